/**
 * An SQL expression for the status of a license, from the columns `staff_status` and `purchase_state`. `licenseStatus`
 * (license.rules.ts) computes the same.
 */
export const LICENSE_STATUS = `case
    when purchase_state = 'refunded' then 'refunded'
    when staff_status = 'revoked' then 'revoked'
    when staff_status = 'suspended' or purchase_state = 'disputed' then 'suspended'
    else 'active' end`;
