/**
 * A shop: everything about payments that a gateway has, with its callbacks on a listener of their own, over a store and
 * with a config that tests choose. Several of them over one store are several gateways.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ZERO } from '../../lib/base/money.ts'
import { CallbackServer } from '../../lib/pay/callback-server.ts'
import { PaymentService } from '../../lib/pay/service.ts'
import type { CheckoutMethod } from '../../lib/pay/method.ts'
import type { Store } from '../../lib/store/store.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { createLogger } from '../../lib/base/log.ts'
import type { Order, OrderMethod } from '../../lib/terms/pay.ts'
import { PayTallies } from '../../lib/terms/tallies.ts'
import type { Account } from '../../lib/terms/records.ts'
import { TestFleet } from '../admin/support.ts'
import { TestClock } from '../support/clock.ts'
import { memoryStore } from '../support/store.ts'
import { ACT } from './support.ts'

/** One for all: every logger listens to the end of the process. */
const log = createLogger('silent')

interface Teardown {
  teardown(fn: () => unknown): void
}

export interface Shop {
  url: string
  store: Store
  clock: TestClock
  desk: PaymentService
  counts: PayTallies
  account: Account
  method: CheckoutMethod
  begin(amount?: string): Promise<Order>
  order(id: string): Promise<Order>
  /** In fen. */
  balance(): Promise<number>
  /** The kinds of the open exceptions. */
  exceptions(): Promise<string[]>
  /** Callbacks so far, by verdict. */
  verdicts(): Record<string, number>
  round(): Promise<void>
}

/** `pay`: the section of the config, with one method. `main`: the address that providers are told; the shop's own is on this machine. Without a store the shop has one of its own, in memory. */
export async function openShop(
  t: Teardown,
  pay: { [W in OrderMethod]?: object } & { title?: string },
  given: { store?: Store; account?: Account; clock?: TestClock; main?: string } = {},
): Promise<Shop> {
  const store = given.store ?? (await memoryStore())
  if (given.store === undefined) t.teardown(() => store.close())
  const account = given.account ?? (await store.accounts.create({ name: 'payer', groups: [], sandbox: true }, ACT))
  const clock = given.clock ?? new TestClock(Date.now())
  const counts = new PayTallies()
  const server = createServer((req, res) => callbacks.serve((req.url as string).split('/')[2] as string, req, res))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = parseConfig(JSON.stringify({ public: { main: given.main ?? url }, pay }), 'c.yaml', {})
  const setAside = () => ({ settlements: 0, unreadable: 0, journals: 0 })
  const desk = new PaymentService({ store, clock, log, fleet: new TestFleet(), setAside, config: () => config, counts })
  const callbacks = new CallbackServer(desk, clock, log)
  const [method] = [...(await desk.methods()).values()] as [CheckoutMethod]
  return {
    url,
    store,
    clock,
    desk,
    counts,
    account,
    method,
    begin: (amount = '100') => desk.orders.begin(account, method.name, amount, 'https://here.example/topup', ACT),
    order: async id => (await store.pay.order(id)) as Order,
    async balance() {
      const [purse] = await store.books.purses([`a${account.id}`])
      return ((purse?.credit ?? ZERO) - (purse?.spent ?? ZERO)) / 10_000
    },
    exceptions: async () => (await store.pay.exceptions({ open: true, limit: 99 })).map(e => e.kind),
    verdicts: () => Object.fromEntries(counts.samples('payCallbacks').map(s => [s.labels['verdict'], s.value])),
    round: () => desk.round(() => false),
  }
}
