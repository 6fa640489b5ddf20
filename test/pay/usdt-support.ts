/** A shop that takes USDT, in front of a chain, with a wallet that is made for each run. */
import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import type { TransferOrder } from '../../lib/terms/chain.ts'
import type { Usdt } from '../../lib/pay/usdt/usdt.ts'
import { PaymentsAdmin } from '../../lib/pay/admin.ts'
import type { Store } from '../../lib/store/store.ts'
import type { Account } from '../../lib/terms/records.ts'
import { addressAt } from '../../lib/config/xpub.ts'
import type { TestClock } from '../support/clock.ts'
import { Node, TestChain } from './doubles/chain.ts'
import { openShop, type Shop } from './shop.ts'
import { ACT } from './support.ts'

const MICROS = 1_000_000
const HOUR_MS = 3_600_000

export interface Wallet {
  root: HDKey
  xpub: string
  first: string
}

export function newWallet(): Wallet {
  const root = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/7'")
  const xpub = root.publicExtendedKey
  return { root, xpub, first: addressAt(xpub, 0) }
}

export interface UsdtShop extends Omit<Shop, 'method' | 'begin'> {
  usdt: Usdt
  chain: TestChain
  /** What is read, and what confirms. */
  first: Node
  second: Node
  wallet: Wallet
  /** Reads the chain once. */
  read(): Promise<void>
  /** The account's address. */
  address(account?: Account): Promise<string>
  rate(cny: number, validMs?: number): Promise<void>
  transfers(account?: Account): Promise<TransferOrder[]>
  states(account?: Account): Promise<string[]>
  /** An operator credits what waits, however little it is. */
  release(account?: Account): Promise<void>
  /** In micro-CNY. */
  micros(account?: Account): Promise<number>
}

interface Given {
  chain?: TestChain
  nodes?: [Node, Node]
  wallet?: Wallet
  section?: object
  store?: Store
  account?: Account
  clock?: TestClock
}

interface Teardown {
  teardown(fn: () => unknown): void
}

export async function openUsdt(t: Teardown, given: Given = {}): Promise<UsdtShop> {
  const chain = given.chain ?? (await TestChain.open(t))
  const [first, second] = given.nodes ?? [await Node.open(t, chain), await Node.open(t, chain)]
  const wallet = given.wallet ?? newWallet()
  const { xpub } = wallet
  const section = {
    xpub,
    check_address: wallet.first,
    endpoints: [first.url, second.url],
    sandbox: true,
    ...given.section,
  }
  const shop = await openShop(t, { usdt: section }, given)
  const usdt = (await shop.desk.usdt()) as Usdt
  const { store, account: own } = shop
  const transfers = (account = own) => store.chain.transferOrders({ accountId: account.id, afterSeq: 0, limit: 1_000 })
  return {
    ...shop,
    usdt,
    chain,
    first,
    second,
    wallet,
    read: () => shop.desk.chain(() => false),
    address: async (account = own) => (await usdt.issue(account, ACT)).address,
    async rate(cny, validMs = 24 * HOUR_MS) {
      // The engine's clock is the machine's own; the shop's must not be behind it.
      const fromMs = Date.now()
      shop.clock.step(Math.max(0, fromMs - shop.clock.now()))
      const rate = { currency: 'USDT', rate: Math.round(cny * MICROS), fromMs, untilMs: fromMs + validMs }
      await store.pay.setPayRate(rate, ACT)
    },
    transfers,
    states: async account => (await transfers(account)).map(({ state }) => state),
    async release(account = own) {
      const admin = new PaymentsAdmin({ ...shop, pay: async () => shop.desk })
      for (const { id, state } of await transfers(account))
        if (state === 'paid') await admin.release(id, { reason: 'asked for' }, ACT.actor)
    },
    async micros(account = own) {
      const [purse] = await store.books.purses([`a${account.id}`])
      return (purse?.credit ?? 0) - (purse?.spent ?? 0)
    },
  }
}
