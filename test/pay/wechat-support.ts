/** A shop that takes WeChat Pay, and the stand-in for WeChat Pay that it talks to. */
import type { RawCallback } from '../../lib/pay/method.ts'
import type { Orders } from '../../lib/pay/orders.ts'
import type { Refunds } from '../../lib/pay/refunds.ts'
import type { Store } from '../../lib/store/store.ts'
import { TestClock } from '../support/clock.ts'
import { WechatDouble } from './doubles/wechat.ts'
import { openShop, type Shop } from './shop.ts'

type Test = { teardown(fn: () => unknown): void }
export type Message = { headers: Record<string, string>; body: string }

export const raw = ({ headers, body }: Message): RawCallback => ({ headers, body: Buffer.from(body) })

export interface WechatShop extends Shop {
  double: WechatDouble
  orders: Orders
  refunds: Refunds
  state(id: string): Promise<string>
  /** Sends a message to the shop's address, and says what was counted for it. */
  deliver(message: Message): Promise<{ status: number; verdict: string }>
}

export async function openWechat(t: Test, given: { store?: Store; beside?: WechatShop } = {}): Promise<WechatShop> {
  const { beside, store = beside?.store } = given
  const clock = beside?.clock ?? new TestClock(Date.now())
  const double = beside?.double ?? (await WechatDouble.open(t, () => clock.now()))
  const account = beside?.account
  const shop = await openShop(
    t,
    { wechat: double.config },
    { clock, ...(store === undefined ? {} : { store }), ...(account === undefined ? {} : { account }) },
  )
  return Object.assign(shop, {
    double,
    orders: shop.desk.orders,
    refunds: shop.desk.refunds,
    state: async (id: string) => (await shop.order(id)).state,
    async deliver({ headers, body }: Message) {
      const before = shop.verdicts()
      const { status } = await fetch(`${shop.url}/pay/wechat`, { method: 'POST', headers, body })
      const counted = Object.entries(shop.verdicts()).find(([verdict, count]) => count !== (before[verdict] ?? 0))
      return { status, verdict: counted?.[0] ?? 'nothing' }
    },
  })
}
