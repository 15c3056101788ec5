/*
 * Webhooks of Lemon Squeezy in the format of its documentation (webhook requests, the order object, the subscription object).
 * CANARIES lists the private values of the buyer, which glue code must not report or print.
 */

export const CANARIES = [
  'Canary Lovelace',
  'canary-customer-77',
  'Canary Street',
  '4242',
  'canary.example/receipt',
];
/** The id of the variant that is sold as a license. */
export const VARIANT = '90210';

interface Order {
  readonly id?: string;
  readonly event?: string;
  readonly status?: string;
  readonly refunded?: boolean;
  readonly variant_id?: number;
  readonly user_email?: string;
}

/** An event about an order: `order_created` or `order_refunded`. */
export function orderEvent({
  id = '2718281',
  event = 'order_created',
  status = 'paid',
  refunded = false,
  variant_id = Number(VARIANT),
  user_email = 'ada@example.com',
}: Order = {}): string {
  return JSON.stringify({
    meta: {
      test_mode: false,
      event_name: event,
      webhook_id: '5f3c1f0e-6c5b-4a8a-9a39-2f5f8b8e7d11',
      custom_data: { customer: 'canary-customer-77' },
    },
    data: {
      type: 'orders',
      id,
      attributes: {
        store_id: 12345,
        customer_id: 998877,
        identifier: '104e18a2-d755-4d4b-80c4-a6c1dcbe1c10',
        order_number: 1,
        user_name: 'Canary Lovelace',
        user_email,
        currency: 'USD',
        currency_rate: '1.00000000',
        subtotal: 9900,
        setup_fee: 0,
        discount_total: 0,
        tax: 1980,
        total: 11880,
        refunded_amount: refunded ? 11880 : 0,
        subtotal_usd: 9900,
        setup_fee_usd: 0,
        discount_total_usd: 0,
        tax_usd: 1980,
        total_usd: 11880,
        refunded_amount_usd: refunded ? 11880 : 0,
        tax_name: 'VAT',
        tax_rate: '20.00',
        tax_inclusive: false,
        status,
        status_formatted: status,
        refunded,
        refunded_at: refunded ? '2026-11-20T13:00:00.000000Z' : null,
        first_order_item: {
          id: 314159,
          order_id: Number(id),
          product_id: 4711,
          variant_id,
          product_name: 'Example App',
          variant_name: 'Default',
          price: 9900,
          created_at: '2026-11-20T12:00:00.000000Z',
          updated_at: '2026-11-20T12:00:00.000000Z',
          deleted_at: null,
          test_mode: false,
        },
        urls: { receipt: 'https://canary.example/receipt/77' },
        created_at: '2026-11-20T12:00:00.000000Z',
        updated_at: '2026-11-20T12:00:00.000000Z',
        test_mode: false,
      },
      relationships: { store: { links: { related: 'https://api.lemonsqueezy.com/v1/orders/1/store' } } },
      links: { self: `https://api.lemonsqueezy.com/v1/orders/${id}` },
    },
  });
}

/** An event about a subscription, with the variant of a license. */
export function subscriptionEvent(): string {
  return JSON.stringify({
    meta: { test_mode: false, event_name: 'subscription_created' },
    data: {
      type: 'subscriptions',
      id: '161803',
      attributes: {
        store_id: 12345,
        order_id: 2718281,
        product_id: 4711,
        variant_id: Number(VARIANT),
        user_name: 'Canary Lovelace',
        user_email: 'ada@example.com',
        status: 'active',
        card_brand: 'visa',
        card_last_four: '4242',
        renews_at: '2026-12-20T12:00:00.000000Z',
        ends_at: null,
        test_mode: false,
      },
    },
  });
}
