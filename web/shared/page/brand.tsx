import { ask } from '../api/api.js';
import type { Brand, Contact } from '../../../src/http/responses/api-types.js';
import { common } from '../texts/messages.js';
import { fill, UntrustedText } from '../texts/text.js';

/**
 * What the settings say about the product and its vendor. It is loaded before the page is first rendered. If `/brand` was not
 * answered, it is empty, and the page names neither the product nor the vendor.
 */
export let brand: Partial<Brand> & Pick<Brand, 'product_name'> = { product_name: '' };

/** Loads `brand`. With a top-level `await`, the bundler would write one more script for the portal (docs/decisions/0040). */
export async function loadBrand(): Promise<void> {
  brand = await ask<Brand>('GET', '../brand').catch(() => brand);
  if (brand.accent) showAccent(brand.accent);
}

/** The content security policy allows style sheets that scripts construct, but no `style` element. */
function showAccent({ light, light_strong, dark, dark_strong }: NonNullable<Brand['accent']>) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :root { --accent: ${light}; --accent-strong: ${light_strong}; }
    @media (prefers-color-scheme: dark) { :root { --accent: ${dark}; --accent-strong: ${dark_strong}; } }`);
  document.adoptedStyleSheets.push(sheet);
}

/** Sets the title of the page, followed by the name of the product. */
export function setTitle(title: string): void {
  document.title = brand.product_name ? `${title} · ${brand.product_name}` : title;
}

/** The icon of the pages, which the build writes into their HTML. */
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href;

/** The logo, the name of the product and the name of the page. */
export function BrandMark({ page }: { page: string }) {
  return (
    <span class="brand">
      <img src={brand.has_logo ? '../brand/logo' : icon} alt="" height="22" />
      {brand.product_name ? (
        <span>
          <UntrustedText text={brand.product_name} /> <span class="quiet">{page}</span>
        </span>
      ) : (
        page
      )}
    </span>
  );
}

/** A sentence with a link to the contact; nothing if the settings name no contact. */
export function ContactLine({ contact, text }: { contact: Contact | null | undefined; text: string }) {
  return contact && <p class="contact">{fill(text, { contact: <ContactLink contact={contact} /> })}</p>;
}

const ContactLink = ({ contact }: { contact: Contact }) => (
  <a href={contact.url}>
    <UntrustedText text={contact.text} />
  </a>
);

/** The lines of the footer about the vendor. */
export function BrandFooter() {
  const { vendor_name, support_contact } = brand;
  return (
    <>
      <ContactLine contact={support_contact} text={common.support} />
      {vendor_name && <p>{fill(common.vendor, { vendor: <UntrustedText text={vendor_name} /> })}</p>}
    </>
  );
}
