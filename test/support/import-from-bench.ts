/** Imports a module of `bench/`, which is JavaScript without types. */
export const importFromBench = (file: string) => import(new URL(`../../bench/${file}`, import.meta.url).href);
