import type { Brand, Contact } from '../core/brand.js';

/** The brand as `GET /brand` shows it (docs/openapi.yaml, `Brand`). */
export interface BrandView {
  readonly product_name: string;
  readonly vendor_name: string | null;
  readonly support_contact: Contact | null;
  readonly privacy_contact: Contact | null;
  readonly shop_url: string | null;
  readonly renewal_url: string | null;
  /** The accent colours as `#rrggbb`; null without ACCENT_COLOR. */
  readonly accent: {
    /** On a light background. */
    readonly light: string;
    /** On a light background, under the pointer. */
    readonly light_strong: string;
    /** On a dark background. */
    readonly dark: string;
    /** On a dark background, under the pointer. */
    readonly dark_strong: string;
  } | null;
  readonly has_logo: boolean;
}

/** Converts the settings of the brand to the view. */
export const brandView = ({ accent, ...brand }: Brand): BrandView => ({
  product_name: brand.productName,
  vendor_name: brand.vendorName,
  support_contact: brand.supportContact,
  privacy_contact: brand.privacyContact,
  shop_url: brand.shopUrl,
  renewal_url: brand.renewalUrl,
  accent: accent && {
    light: accent.light,
    light_strong: accent.lightStrong,
    dark: accent.dark,
    dark_strong: accent.darkStrong,
  },
  has_logo: brand.logoFile !== null,
});
