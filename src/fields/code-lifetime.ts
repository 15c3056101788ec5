/** How long a mailed sign-in code is valid. The page uses this file too, so the file imports nothing. */
export const CODE_LIFETIME_MINUTES = 10;
