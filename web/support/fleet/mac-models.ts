/**
 * The names that Apple gives the models on its support pages "Identify your Mac". If models of several years share an
 * identifier, the name has both years. Models before 2018 are left out, and also identifiers whose name is not certain:
 * they are shown without a name.
 */
const IDENTIFIERS: Readonly<Record<string, readonly string[]>> = {
  'MacBook Air (Retina, 13-inch, 2018)': ['MacBookAir8,1'],
  'MacBook Air (Retina, 13-inch, 2019)': ['MacBookAir8,2'],
  'MacBook Air (Retina, 13-inch, 2020)': ['MacBookAir9,1'],
  'MacBook Air (M1, 2020)': ['MacBookAir10,1'],
  'MacBook Air (M2, 2022)': ['Mac14,2'],
  'MacBook Air (15-inch, M2, 2023)': ['Mac14,15'],
  'MacBook Air (13-inch, M3, 2024)': ['Mac15,12'],
  'MacBook Air (15-inch, M3, 2024)': ['Mac15,13'],
  'MacBook Air (13-inch, M4, 2025)': ['Mac16,12'],
  'MacBook Air (15-inch, M4, 2025)': ['Mac16,13'],
  'MacBook Pro (15-inch, 2018 or 2019)': ['MacBookPro15,1'],
  'MacBook Pro (13-inch, 2018 or 2019, Four Thunderbolt 3 ports)': ['MacBookPro15,2'],
  'MacBook Pro (13-inch, 2019, Two Thunderbolt 3 ports)': ['MacBookPro15,4'],
  'MacBook Pro (16-inch, 2019)': ['MacBookPro16,1', 'MacBookPro16,4'],
  'MacBook Pro (13-inch, 2020, Four Thunderbolt 3 ports)': ['MacBookPro16,2'],
  'MacBook Pro (13-inch, 2020, Two Thunderbolt 3 ports)': ['MacBookPro16,3'],
  'MacBook Pro (13-inch, M1, 2020)': ['MacBookPro17,1'],
  'MacBook Pro (16-inch, 2021)': ['MacBookPro18,1', 'MacBookPro18,2'],
  'MacBook Pro (14-inch, 2021)': ['MacBookPro18,3', 'MacBookPro18,4'],
  'MacBook Pro (13-inch, M2, 2022)': ['Mac14,7'],
  'MacBook Pro (14-inch, 2023)': ['Mac14,5', 'Mac14,9'],
  'MacBook Pro (16-inch, 2023)': ['Mac14,6', 'Mac14,10'],
  'MacBook Pro (14-inch, Nov 2023)': ['Mac15,3', 'Mac15,6', 'Mac15,8', 'Mac15,10'],
  'MacBook Pro (16-inch, Nov 2023)': ['Mac15,7', 'Mac15,9', 'Mac15,11'],
  'MacBook Pro (14-inch, 2024)': ['Mac16,1', 'Mac16,6', 'Mac16,8'],
  'MacBook Pro (16-inch, 2024)': ['Mac16,5', 'Mac16,7'],
  'MacBook Pro (14-inch, M5)': ['Mac17,2'],
  'iMac (Retina 5K, 27-inch, 2019)': ['iMac19,1'],
  'iMac (Retina 4K, 21.5-inch, 2019)': ['iMac19,2'],
  'iMac (Retina 5K, 27-inch, 2020)': ['iMac20,1', 'iMac20,2'],
  'iMac (24-inch, M1, 2021)': ['iMac21,1', 'iMac21,2'],
  'iMac (24-inch, 2023, Two ports)': ['Mac15,4'],
  'iMac (24-inch, 2023, Four ports)': ['Mac15,5'],
  'iMac (24-inch, 2024, Two ports)': ['Mac16,2'],
  'iMac (24-inch, 2024, Four ports)': ['Mac16,3'],
  'Mac mini (2018)': ['Macmini8,1'],
  'Mac mini (M1, 2020)': ['Macmini9,1'],
  'Mac mini (2023)': ['Mac14,3', 'Mac14,12'],
  'Mac mini (2024)': ['Mac16,10', 'Mac16,11'],
  'Mac Studio (2022)': ['Mac13,1', 'Mac13,2'],
  'Mac Studio (2023)': ['Mac14,13', 'Mac14,14'],
  'Mac Studio (2025)': ['Mac15,14', 'Mac16,9'],
  'Mac Pro (2019)': ['MacPro7,1'],
  'Mac Pro (2023)': ['Mac14,8'],
};

const NAMES = new Map(
  Object.entries(IDENTIFIERS).flatMap(([name, identifiers]) => identifiers.map((each) => [each, name])),
);

/** Returns the name of a model, such as `MacBook Air (M1, 2020)`; undefined for an unknown identifier. */
export const macModelName = (identifier: string): string | undefined => NAMES.get(identifier);
