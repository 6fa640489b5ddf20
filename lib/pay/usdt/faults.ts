/** Why operators' decisions about deposits are refused. */
import { formatMicro, type Micro } from '../../base/money.ts'
import { OperationError } from '../../operations/error.ts'
import type { DepositFrozen, DepositResolved } from '../../store/deposit-store.ts'

const fault = (kind: 'missing' | 'conflict' | 'invalid', en: string, zh: string) => () =>
  new OperationError(kind, { en, zh })

export const NOT_CONFIGURED = fault('missing', 'USDT is not offered', '未开通 USDT 充值')
export const NO_DEPOSIT = fault('missing', 'There is no such deposit', '没有这笔充值')
export const NO_REFUND = fault('missing', 'There is no such refund', '没有这笔退款')
export const NOT_HELD = fault('conflict', 'the deposit is not held', '该充值不在等待人工处理')
export const NOT_CONFIRMED = fault(
  'conflict',
  'the other node does not say that this transfer stands in this block: it cannot be credited',
  '另一节点未确认该区块中有此转账,无法入账',
)

export const NOT_RESOLVED: Record<Exclude<DepositResolved['outcome'], 'done'>, () => OperationError> = {
  settled: NOT_HELD,
  elsewhere: fault(
    'conflict',
    'this transaction counts already, as it stood in another block: close this deposit',
    '该交易已按另一区块中的记录计入,请关闭这笔充值',
  ),
  rateless: fault('conflict', 'there is no rate for this deposit yet', '该充值尚无汇率'),
  conflict: fault(
    'conflict',
    'the ledger has another entry under the reference of this deposit, or the balance cannot hold it',
    '账本中已有同一编号的另一条记录,或余额无法容纳',
  ),
}

export function notFrozen(
  outcome: Exclude<DepositFrozen, { refund: unknown }>['outcome'],
  most: Micro,
): OperationError {
  if (outcome === 'conflict')
    return fault(
      'conflict',
      'reference: another amount or receiver stands under it',
      'reference:已用于另一金额或另一地址的退款',
    )()
  if (outcome === 'own')
    return fault(
      'invalid',
      'receiver: it is a deposit address here, and the tokens would be credited again',
      'receiver:这是本站的充值地址,退款会再次入账',
    )()
  if (outcome === 'dust')
    return fault('invalid', 'amount: it is worth less than 0.0001 USDT', 'amount:不足 0.0001 USDT')()
  const refundable = formatMicro(most)
  return new OperationError(
    'conflict',
    {
      en: `amount: only ${refundable} CNY of this deposit can go back now`,
      zh: `amount:该充值目前最多可退 ${refundable} 元`,
    },
    { refundable },
  )
}

export const NOBODYS = fault(
  'invalid',
  'receiver: it is the contract of the token, which nobody could take the tokens from',
  'receiver:这是代币合约地址,转入后无法取回',
)
export const ONE_OF_TWO = fault(
  'invalid',
  'tx: expected the transaction that sent the tokens, or else a reason why they are not sent',
  'tx:应为转出代币的交易哈希,或填写未转出的原因',
)
export const NOT_FINAL = fault(
  'conflict',
  'tx: no node knows this transaction in a final block yet: try again in a minute',
  'tx:尚无节点在最终确认的区块中查到此交易,请稍后再试',
)
export const OTHER_TRANSFER = (tokens: string) =>
  fault(
    'conflict',
    `tx: it did not send ${tokens} USDT to the receiver of this refund`,
    `tx:该交易未向此退款的收款地址转出 ${tokens} USDT`,
  )()
export const USED = fault('conflict', 'tx: it stands at another refund', 'tx:此交易已用于另一笔退款')
export const ENDED = fault('conflict', 'this refund has ended otherwise', '此退款已以其他方式结束')
