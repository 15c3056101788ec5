/** The settings that production requires, except DATABASE_URL. TOKEN_KEYS_DIR does not exist, and nothing listens at PUBLIC_URL. */
export const PRODUCTION_SETTINGS = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'http://localhost:9',
  PRODUCT: 'com.example.app',
  LICENSE_KEY_SECRET: `${'A'.repeat(43)}=`,
  TOKEN_KEYS_DIR: '/none',
  MANIFEST_PUBLIC_KEYS: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
};
