/** What the kinds of entries are called. */
import { words } from '../base/words.ts'

const w = words({
  opening: ['期初余额', 'Opening balance'],
  topup: ['充值', 'Top-up'],
  payment: ['支付', 'Payment'],
  adjustment: ['调整', 'Adjustment'],
  refund: ['退款', 'Refund'],
  freeze: ['冻结', 'Freeze'],
  release: ['解冻', 'Release'],
  reversal: ['冲正', 'Reversal'],
  settlement: ['争议用量结算', 'Settlement of a dispute'],
  charges: ['当日用量', 'Charges of the day'],
})

/** A kind that this page does not know is shown as it is. */
export const kindName = (kind: string): string => (Object.hasOwn(w, kind) ? w[kind as keyof typeof w]() : kind)
