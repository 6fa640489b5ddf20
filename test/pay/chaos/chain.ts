/**
 * The chain of a run: people send tokens to the addresses of accounts, blocks come and are made anew, and the nodes that the
 * gateways ask are behind, refuse, or leave out what they should tell. What an address has is what the token's contract says.
 */
import { ANVIL_MISSING } from '../../support/anvil.ts'
import type { Random } from '../../support/random.ts'
import { OperationError } from '../../../lib/operations/error.ts'
import { floorOf, tokenText, worthOf } from '../../../lib/terms/chain.ts'
import { encode, type Lie, Node, TestChain, TOKEN, USDT_CONTRACT } from '../doubles/chain.ts'
import { ACT } from '../support.ts'
import { newWallet } from '../usdt-support.ts'
import type { Account } from '../../../lib/terms/records.ts'
import type { World } from './world.ts'

export const RATE = 7_123_457
const YEAR_MS = 365 * 86_400_000
/** In micro-CNY. */
const MINIMUM = 40_000_000n
const FIRST_BLOCK = 1

interface Teardown {
  teardown(fn: () => unknown): void
}

export class ChaosChain {
  readonly chain: TestChain
  readonly nodes: [Node, Node]
  readonly section: object

  private constructor(chain: TestChain, nodes: [Node, Node]) {
    const { xpub, first } = newWallet()
    this.chain = chain
    this.nodes = nodes
    this.section = { xpub, check_address: first, endpoints: nodes.map(({ url }) => url), sandbox: true }
  }

  /** null = the program of the chain is not on this machine. */
  static async open(t: Teardown): Promise<ChaosChain | null> {
    if (ANVIL_MISSING !== null) return null
    const chain = await TestChain.open(t)
    return new ChaosChain(chain, [await Node.open(t, chain), await Node.open(t, chain)])
  }

  #last: Promise<unknown> = Promise.resolve()

  /** One thing after the other: two forks at the same moment would reach further down than what is final. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  async balanceOf(address: string): Promise<bigint> {
    const call = { to: USDT_CONTRACT, data: encode('balanceOf(address)', address) }
    return BigInt(await this.chain.anvil.call<string>('eth_call', call, 'latest'))
  }
}

/** The rate that holds from before the run to long after it. */
export async function setRate({ store, clock }: World): Promise<void> {
  const [fromMs, untilMs] = [Date.now() - YEAR_MS, clock.now() + YEAR_MS]
  await store.pay.setPayRate({ currency: 'USDT', rate: RATE, fromMs, untilMs }, ACT)
}

/** There are bounds to how many quotes people may make. */
function ifRefused(error: unknown): void {
  if (!(error instanceof OperationError)) throw error
}

const someTokens = (random: Random): bigint =>
  random.pick([
    1n,
    TOKEN / 100n,
    TOKEN * 5n + 1n,
    (TOKEN * BigInt(random.int(1, 3_000))) / 100n,
    TOKEN * BigInt(random.int(6, 400)),
  ])

export async function transfer(world: World): Promise<void> {
  const { chain: side, random, accounts, gateway } = world
  if (side === null) return
  const usdt = await gateway.desk.usdt()
  const account = random.pick(accounts)
  if (usdt === null) return
  const { address } = await usdt.issue(account, ACT)
  if (random.next() < 0.2) await usdt.quote(account, '100', ACT).catch(ifRefused)
  const [value, payer] = [someTokens(random), random.pick([side.chain.payer, side.chain.other])]
  await side.inTurn(() => side.chain.pay(address, value, payer))
}

export async function blocks({ chain: side, random }: World): Promise<void> {
  if (side === null) return
  const [forks, count] = [random.next() < 0.2, random.int(1, 4)]
  await side.inTurn(async () => {
    if (forks) await side.chain.reorg(1)
    await side.chain.mine(count)
  })
}

export const read = async ({ gateway }: World): Promise<void> => gateway.desk.chain(() => false)

const LIES: readonly Lie[] = [
  { result: [] },
  { result: null },
  { error: { code: -32_005, message: 'limit exceeded' } },
  { error: { code: -32_602, message: 'block range is too large' } },
  { status: 429, text: 'slow down' },
  { status: 200, text: '<html>' },
]

/** A node fails in its own way for a while, or tells the truth again. */
export async function lie({ chain: side, random }: World): Promise<void> {
  if (side === null) return
  const node = random.pick(side.nodes)
  const method = random.pick(['eth_getLogs', 'eth_getBlockByNumber', 'eth_getTransactionReceipt'])
  const [said, often] = [random.pick(LIES), random.pick([0, 0.3, 1])]
  node.about(method, () => (random.next() < often ? said : null))
}

/** Everything that was sent is final, and the nodes tell the truth. */
export async function calmChain({ chain: side }: World): Promise<void> {
  for (const node of side?.nodes ?? []) node.honest()
  await side?.chain.mine(5)
}

/** What was sent to an account's address less what is known of it, and the address; null = it has none. */
async function unknownOf({ chain: side, store, gateways }: World, account: Account) {
  const usdt = await gateways[0]?.desk.usdt()
  const row = (await usdt?.addressOf(account)) ?? null
  if (side === null || row === null) return null
  const known = await store.chain.transferOrders({ accountId: account.id, afterSeq: 0, limit: 100_000 })
  const has = await side.balanceOf(row.address)
  return { address: row.address, known, has, unknown: has - known.reduce((sum, { value }) => sum + value, 0n) }
}

/**
 * Where both nodes left out a transfer, each at its time, only the balance of the address can tell. Then a person must have been
 * told, by how much, and an operator sets the cursor back, so that all is read again. True when that was done.
 */
export async function readAgain(world: World): Promise<boolean> {
  const { store, gateways, accounts, faults } = world
  const told = new Set((await store.pay.exceptions({ kind: 'chain', limit: 1_000_000 })).map(one => one.reference))
  let missed = false
  for (const account of accounts) {
    const found = await unknownOf(world, account)
    if (found === null || found.unknown === 0n) continue
    missed = true
    world.count('transfers that both nodes left out')
    if (!told.has(`balance:${found.address}:${found.unknown}`))
      faults.push(`nobody was told that account ${account.id} has ${tokenText(found.unknown)} USDT that are not known`)
  }
  if (missed) await (await gateways[0]?.desk.usdt())?.rewind(FIRST_BLOCK, 'chaos', ACT)
  return missed
}

/** What an account was credited of what its address has, in micro-CNY. Faults are added to the list. */
export async function creditedOf(world: World, accountId: number, faults: string[]): Promise<bigint> {
  const account = world.accounts.find(({ id }) => id === accountId) as Account
  const found = await unknownOf(world, account)
  if (found === null) return 0n
  const { known, has, unknown } = found
  if (unknown !== 0n)
    faults.push(`account ${accountId} was sent ${tokenText(has)} USDT, and ${tokenText(has - unknown)} are known`)
  let credited = 0n
  let waiting = 0n
  for (const found of known) {
    const worth = worthOf(found) ?? 0n
    if (found.state === 'credited') credited += BigInt(found.credited)
    else waiting += worth
    if (found.state === 'credited' && BigInt(found.credited) !== floorOf(worth))
      faults.push(`transfer ${found.id} is worth ${floorOf(worth)}, and ${found.credited} were credited`)
    if (found.state !== 'credited' && found.state !== 'paid') faults.push(`transfer ${found.id} is ${found.state}`)
  }
  if (floorOf(waiting) >= MINIMUM) faults.push(`account ${accountId} waits for ${floorOf(waiting)}`)
  return credited
}
