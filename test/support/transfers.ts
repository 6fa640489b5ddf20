/** What a gateway does with transfers of USDT in a store, without a chain: a second node confirms them, and they are credited. */
import type { Act } from '../../lib/base/people.ts'
import { micro } from '../../lib/base/money.ts'
import { paymentOf } from '../../lib/pay/usdt/crediting.ts'
import type { Store } from '../../lib/store/store.ts'
import type { TransferOrder } from '../../lib/terms/chain.ts'
import type { Proof } from '../../lib/terms/pay.ts'

export function proofOfTransfer(transfer: TransferOrder): Proof {
  const { orderId, transactionId, amount, currency, digest, paidAtMs } = paymentOf(transfer)
  const proof = { method: 'usdt', source: 'chain', actor: '', note: '' } as const
  return { ...proof, orderId, transactionId, amount, currency, digest, paidAtMs }
}

/** Proves every order whose transfer no second node has confirmed. */
export async function confirmTransfers({ chain, pay }: Store, chainId: number): Promise<void> {
  for (const transfer of await chain.unconfirmed(chainId, 1_000)) await pay.proveOrder(proofOfTransfer(transfer))
}

/** Credits what an account has waiting, if it is worth the minimum. `credited`: what this call has credited. */
export async function creditTransfers(
  { chain, pay }: Store,
  chainId: number,
  accountId: number,
  minimum: number,
  act: Act,
): Promise<{ credited: TransferOrder[]; tooLarge: TransferOrder[]; conflicts: string[] }> {
  const { due, tooLarge } = await chain.markDue(chainId, accountId, micro(minimum))
  const credited: TransferOrder[] = []
  const conflicts: string[] = []
  for (const id of due) {
    const order = await pay.order(id)
    const { outcome } = await pay.creditOrder(id, order!.amount, '', act)
    if (outcome === 'credited') credited.push((await chain.transferOrder(id)) as TransferOrder)
    if (outcome === 'conflict') conflicts.push(id)
  }
  return { credited, tooLarge, conflicts }
}
