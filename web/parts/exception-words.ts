/** What does not fit between payments and orders, in words: what it is, and what an operator does about it. */
import type { ShownException } from '../../lib/console/answers.ts'
import { words } from '../base/words.ts'

type Kind = ShownException['kind']

const NAMES = words({
  unknown_order: ['未知订单', 'Unknown order'],
  method: ['支付方式不符', 'Another way to pay'],
  amount: ['金额不符', 'Another amount'],
  currency: ['货币不符', 'Another currency'],
  merchant: ['收款商户不符', 'Another merchant'],
  mode: ['测试与正式环境不符', 'Test and live mixed'],
  duplicate: ['重复付款', 'Paid twice'],
  conflict: ['账目冲突', 'Conflict in the ledger'],
  bill_missing: ['账单与订单不符', 'Not in the bill, or only there'],
  bill_amount: ['账单金额不符', 'The bill has another amount'],
  refund_unknown: ['未知退款', 'Unknown refund'],
  refund_amount: ['退款金额不符', 'Refund of another amount'],
  refund_stuck: ['退款未完成', 'Refund is stuck'],
  fraud_warning: ['欺诈预警', 'Suspected fraud'],
  dispute: ['争议', 'Dispute'],
  chain: ['链上数据不符', 'The chain does not add up'],
})

const ADVICE = words({
  unknown_order: [
    '款项不属于此处的订单。如属于其他系统，关闭即可；否则在服务商处退款后关闭。',
    'The payment is of no order here. Close it when it belongs to another system; otherwise refund it at the provider first.',
  ],
  method: [
    '订单是用另一种支付方式创建的。在服务商处退款后关闭。',
    'The order was made for another way to pay. Refund it at the provider, then close this.',
  ],
  amount: [
    '确认付款人实际支付的金额后按收到的金额入账，或在服务商处退款后关闭。',
    'Credit what was received when it is the payer’s, or refund it at the provider and close this.',
  ],
  currency: [
    '有订单汇率时可按收到的金额入账，否则在服务商处退款后关闭。',
    'Credit it where the order has a rate for this currency; otherwise refund it at the provider and close this.',
  ],
  merchant: [
    '款项进入了另一个商户。检查配置；确认是您的商户后可入账。',
    'Another merchant got the money. Look at the configuration; credit it when the merchant is yours.',
  ],
  mode: [
    '测试环境的款项不能计入正式账户。检查密钥后关闭。',
    'Money of a test environment is none. Look at the keys, then close this.',
  ],
  duplicate: [
    '该订单已有一笔付款。在服务商处退还这一笔后关闭。',
    'The order has another payment. Refund this one at the provider, then close this.',
  ],
  conflict: [
    '账目中此订单的凭证号已被占用，因此没有入账。审计会指出差异。',
    'The ledger has another entry under the reference of this order, so nothing was credited. The audit names the difference.',
  ],
  bill_missing: [
    '在服务商处核对这笔付款：账单没有它，或服务商不确认它。',
    'Look the payment up at the provider: the bill lacks it, or the provider does not confirm it when asked.',
  ],
  bill_amount: [
    '在服务商处核对金额，差额用调整补足或扣除。',
    'Look the amount up at the provider; an adjustment of the account makes up for a difference.',
  ],
  refund_unknown: [
    '服务商有一笔此处没有的退款。核对后用调整扣除，或关闭。',
    'The provider has a refund that is not here, or ended otherwise. Adjust the account where money is missing, then close this.',
  ],
  refund_amount: [
    '退回的金额超过订单剩余金额。核对后用调整扣除差额。',
    'More went back than was left of the order. Adjust the account by the difference, then close this.',
  ],
  refund_stuck: [
    '款项仍处于冻结状态，系统会继续询问。请在服务商处处理该退款，完成后关闭。USDT：转出代币并填写交易，之后自动关闭。',
    'The money stays frozen, and the provider is asked again by itself. Settle the refund at the provider; then close this. Of USDT: send the tokens and enter their transaction; this closes by itself.',
  ],
  fraud_warning: [
    '服务商怀疑欺诈。银行卡付款的余款已自动退回；查看订单和付款人的账户，必要时封禁，然后关闭。',
    'The provider suspects a fraud. What is left of a card payment is sent back by itself: look at the order and at the payer’s account, ban it if need be, then close this.',
  ],
  dispute: [
    '付款人的银行要求退款，款项已冻结。请在期限前到服务商处答辩，或接受；银行作出决定后此项会自动关闭。',
    'The payer’s bank asks for the money back, and it is frozen. Answer at the provider before the time is over, or accept it; this closes by itself when the bank has decided.',
  ],
  chain: [
    '节点之间或余额与充值之间不一致。核对节点与地址：另一节点确认后可入账，否则关闭。',
    'Nodes disagree, or the balance of an address is not what its transfers say, or a transfer is worth very much. Look at the nodes and the address; a transfer is credited when the other node confirms it. Otherwise close this.',
  ],
})

export const EXCEPTION_KINDS = Object.keys(NAMES) as Kind[]
export const exceptionName = (kind: Kind): string => NAMES[kind]()
export const exceptionTodo = (kind: Kind): string => ADVICE[kind]()

export const received = ({ amount, currency }: ShownException): string =>
  amount === null ? '–' : `${amount} ${currency ?? ''}`.trim()
