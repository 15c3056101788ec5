// Signs in on the pages of a service with sample data, for the pictures and the bench of the pages.

/** A virtual authenticator of the machine itself, which verifies its user at once. */
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
};

/**
 * Signs in a staff member on the support page, and makes a passkey: a person without one is asked to make one each time that the
 * page opens.
 * @param page of playwright-core @param {string} link signs in once
 * @param onPrompt called when the page asks for a passkey
 */
export async function signInStaff(page, link, onPrompt = async () => {}) {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send('WebAuthn.enable');
  await protocol.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.getByRole('button', { name: 'Make a passkey' }).waitFor();
  await onPrompt();
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  await page.getByRole('search').getByRole('textbox').waitFor();
}

/** Signs in a holder on the portal with a license key. @param page of playwright-core */
export async function signInByKey(page, { license_key, email }) {
  await page.goto('/portal/');
  await page.locator('input[name=email]').fill(email);
  await page.locator('input[name=license_key]').fill(license_key);
  await page.keyboard.press('Enter');
  await page.getByRole('table').first().waitFor();
}
