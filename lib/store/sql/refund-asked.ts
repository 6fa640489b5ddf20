/**
 * What providers were asked to send back, of refunds from before that was stored: the share of each by itself. Engines divide
 * whole numbers in different ways, so what is left over is taken off first.
 */
export const FILL_ASKED =
  'UPDATE pay_refunds SET asked = (SELECT (pay_refunds.amount * o.asked - (pay_refunds.amount * o.asked) % o.amount) ' +
  '/ o.amount FROM pay_orders o WHERE o.id = pay_refunds.order_id) WHERE asked IS NULL'
