// The pictures of the dialogs of the support page, and of the page on a telephone.
const PHONE = { width: 390, height: 844 };

/** Takes pictures of the dialogs for a new key and for an erasure, on the page of a license. */
export async function takeLicenseDialogs(camera, page) {
  await takeDialog(camera, page, 'New key …', 'support-rekey', 'A new key is mailed, and not shown.');
  await takeDialog(
    camera,
    page,
    'Erase the holder …',
    'support-erase',
    'Before a holder is erased, the e-mail is typed once more.',
  );
}

/** Takes a picture of the refusal of a change, because the license was changed meanwhile. */
export async function takeConflict(camera, page, changeMeanwhile) {
  await page.getByRole('button', { name: 'Change …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Machines allowed').fill('4');
  await dialog.getByRole('textbox').last().fill('Bought one more by mail');
  await changeMeanwhile();
  await dialog.locator('button[type=submit]').click();
  await dialog.getByRole('alert').waitFor();
  await camera.takeVisible(
    page,
    'support-conflict',
    'A change is refused if another person has changed the license meanwhile.',
  );
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** Takes a picture of the dialog that releases the machines of all shown requests, and cancels it. */
export async function takeBatchRelease(camera, page) {
  await page.getByRole('checkbox', { name: 'Select all shown' }).check();
  await takeDialog(
    camera,
    page,
    /^Release selected/,
    'support-batch',
    'Several machines are released at once, with one reason.',
  );
  await page.getByRole('checkbox', { name: 'Select all shown' }).uncheck();
}

/** Takes a picture of the dialog that a button opens, and closes it. */
export async function takeDialog(camera, page, button, name, sentence) {
  await page.getByRole('button', { name: button }).first().click();
  await page.getByRole('dialog').waitFor();
  await camera.takeVisible(page, name, sentence);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Takes a picture of the view that the page shows, as a telephone shows it. */
export async function takeOnPhone(camera, page, name, sentence) {
  const size = page.viewportSize();
  await page.setViewportSize(PHONE);
  await camera.take(page, name, sentence);
  await page.setViewportSize(size);
}
