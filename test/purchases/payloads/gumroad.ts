/*
 * Pings and sales of Gumroad in the format of its documentation (Ping, resource subscriptions, `GET /v2/sales/:id`). CANARIES
 * lists the private values of the buyer, which glue code must not report or print.
 */

export const CANARIES = ['Canary Lovelace', 'Canary Street', 'Canaryland', '4242', '85DB562A'];
/** The id of the product that is sold as a license. */
export const PRODUCT = '32-nPAicqbLj8B_WswVlMw==';

export interface Sale {
  readonly id: string;
  readonly email: string;
  readonly product_id: string;
  readonly subscription_id?: string;
  readonly refunded: boolean;
  readonly partially_refunded: boolean;
  readonly disputed: boolean;
  readonly dispute_won: boolean;
}

/** A sale, as the API returns it. */
export const saleAnswer = (sale: Sale) => ({
  success: true,
  sale: {
    seller_id: 'kL0psVL2admJSYRNs-OCMg==',
    timestamp: '2 days ago',
    daystamp: '18 Nov 2026 1:00 PM',
    created_at: '2026-11-18T13:00:00Z',
    product_name: 'Example App',
    product_has_variants: false,
    price: 9900,
    gumroad_fee: 1020,
    formatted_display_price: '$99',
    formatted_total_price: '$99',
    currency_symbol: '$',
    amount_refundable_in_currency: '99',
    order_id: 524459935,
    product_permalink: 'example-app',
    chargedback: sale.disputed,
    purchase_email: sale.email,
    full_name: 'Canary Lovelace',
    street_address: 'Canary Street 77b',
    city: 'London',
    country: 'Canaryland',
    zip_code: 'N1',
    paid: true,
    can_contact: true,
    referrer: 'direct',
    card: { visual: '**** **** **** 4242', type: 'visa', bin: null, expiry_month: null, expiry_year: null },
    ip_country: 'Canaryland',
    license_key: '85DB562A-C11D4B06-A2335A6B-8C079166',
    quantity: 1,
    ...sale,
  },
});

/** A ping, as a form. @param resource_name the kind of event, such as `sale` or `refund` */
export const ping = (
  { id, email, product_id, refunded, disputed, dispute_won }: Sale,
  resource_name: string,
) =>
  new URLSearchParams({
    seller_id: 'kL0psVL2admJSYRNs-OCMg==',
    product_id,
    product_name: 'Example App',
    permalink: 'example',
    product_permalink: 'https://seller.gumroad.com/l/example',
    short_product_id: 'example',
    email,
    price: '9900',
    gumroad_fee: '1020',
    currency: 'usd',
    quantity: '1',
    discover_fee_charged: 'false',
    can_contact: 'true',
    referrer: 'direct',
    'card[visual]': '**** **** **** 4242',
    'card[type]': 'visa',
    order_number: '524459935',
    sale_id: id,
    sale_timestamp: '2026-11-18T13:00:00Z',
    full_name: 'Canary Lovelace',
    ip_country: 'Canaryland',
    license_key: '85DB562A-C11D4B06-A2335A6B-8C079166',
    is_gift_receiver_purchase: 'false',
    refunded: String(refunded),
    disputed: String(disputed),
    dispute_won: String(dispute_won),
    resource_name,
  }).toString();
