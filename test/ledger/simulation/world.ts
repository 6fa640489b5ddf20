/** One run: some gateways, some accounts, and a number of random steps with the checks after each; then the end. */
import { readdirSync } from 'node:fs'
import { attemptId, idAt } from '../../../lib/base/ids.ts'
import { pause } from '../../../lib/base/clock.ts'
import { micro } from '../../../lib/base/money.ts'
import { EVERY, periodAt, periodName } from '../../../lib/base/periods.ts'
import { Hold, MONEY_WAIT_MS } from '../../../lib/ledger/ledger.ts'
import { firstLimit } from '../../../lib/operations/accounts/limits.ts'
import { Sealer } from '../../../lib/store/catalogue/sealer.ts'
import { Store } from '../../../lib/store/store.ts'
import { accountPurse, keyPurse, limitPurse, type PurseId } from '../../../lib/store/books/purses.ts'
import type { UsageRow } from '../../../lib/terms/usage-row.ts'
import {
  type Account,
  changedLimit,
  type Key,
  type Limit,
  periodOf,
  type SetLimit,
} from '../../../lib/terms/records.ts'
import { kept as whenKept } from '../../support/kept.ts'
import { type Random, withSeed } from '../../support/random.ts'
import { newKey, SETUP, topUp, usageRow } from '../../support/store.ts'
import { amountOf, Broken, Expected, type OpenHold } from './books.ts'
import type { Database } from './database.ts'
import { Debits } from './debits.ts'
import type { Disk } from './disk.ts'
import { type FaultRates, FaultyDriver, type Network, NO_FAULTS } from './faults.ts'
import { Gateway, type Surroundings } from './gateway.ts'
import { settled, Timeline } from './timeline.ts'

const HOUR = 3_600_000
/** A client that is told to come again does, so often. Each time more of what others have leased has come back. */
const TRIES = 4
const AGAIN_MS = 500
const LONGEST_ANSWER_MS = TRIES * (MONEY_WAIT_MS + AGAIN_MS)

interface Pending {
  gateway: Gateway | null
  what: string
  /** When it must have an answer, whatever the store does; null = it may wait for the store. */
  untilMs: number | null
}

export class World {
  readonly random: Random
  readonly timeline = new Timeline()
  readonly network: Network
  readonly expected: Expected
  readonly #around: Surroundings
  readonly #admin: Store
  readonly #debits: Debits
  readonly #weights: [action: () => void | Promise<void>, name: string, weight: number][]
  readonly #hosts: number
  readonly #journalLimit: number
  gateways: Gateway[] = []
  keys: Key[] = []
  readonly accounts = new Map<number, Account>()
  #count = 0
  /** `gateway`: who is asked; null = the store, by an operator. */
  #pending = new Map<Promise<unknown>, Pending>()

  constructor(seed: number, database: Database, disk: Disk, trace: string[] | null) {
    const random = withSeed(seed)
    const note = (text: string): void => void trace?.push(text)
    const tracing = trace !== null
    this.random = random
    const buried = () => {
      try {
        this.expected.noteBuried(this.gateways, this.network)
      } catch (error) {
        this.timeline.crashes.push(error) // not the store's to swallow
      }
    }
    const booked = () => this.expected.booked()
    this.network = {
      rates: this.#rates(),
      down: 'no',
      timeoutMs: random.pick([2_000, 5_000, 10_000, 30_000]),
      sick: null,
      slowMs: 3_000,
      goneMs: 0,
      awayMs: 0,
      buried,
      booked,
    }
    this.#hosts = random.next() < 0.7 ? 1 : 2
    const oneHost = this.#hosts === 1
    const slice = random.pick([1, 2, 256])
    const { timeline, network } = this
    this.#around = { timeline, database, network, disk, random, oneHost, slice, tracing, note }
    this.#journalLimit = random.next() < 0.2 ? random.int(300, 3_000) : 1 << 24
    const clock = this.timeline.process()
    this.#admin = new Store(
      new FaultyDriver(database, { ...this.network, rates: NO_FAULTS }, random, clock),
      new Sealer('s'),
      () => {},
    )
    this.#debits = new Debits(this.#admin, clock)
    this.expected = new Expected(
      database,
      () => this.timeline.now,
      id => this.#limitNow(id),
    )
    // Each seed has its own mixture: some never kill, some do little else.
    const some = (most: number): number => (random.next() < 0.3 ? 0 : random.next() * most)
    const theme = random.pick(['none', 'none', 'midnight', 'midnight', 'cut', 'disk', 'crash', 'sick'])
    const themed = (name: string, weight: number): number => (theme === name ? weight : some(weight / 6))
    this.#weights = [
      [() => this.#reserve(), 'reserve', 10],
      [() => this.#settle(), 'settle', 4 + some(6)],
      [() => this.#void(), 'void', some(2)],
      [() => this.#grow(), 'grow', some(4)],
      [() => this.#topUp(), 'top up', some(1)],
      [() => this.#takeOut(), 'a debit', some(1)],
      [() => this.#change(), 'a limit changes', some(0.5)],
      [() => this.#nextPeriod(), 'a period ends', theme === 'midnight' ? 2 : some(0.4)],
      [() => this.#flush(), 'flush', some(1)],
      [() => this.timeline.advance(random.int(1, 60)), 'a moment', some(4)],
      [() => this.timeline.advance(random.int(100, 1_500)), 'a second', 1 + some(4)],
      [() => this.timeline.advance(random.int(2_000, 30_000)), 'a while', some(1)],
      [() => this.timeline.advance(random.int(60_000, 260_000)), 'minutes', theme === 'cut' ? 0.4 : some(0.15)],
      [() => void (this.timeline.wallOffset += random.pick([-HOUR, HOUR])), 'the wall clock steps', some(0.5)],
      [() => this.#kill(), 'kill', themed('crash', 3)],
      [() => this.#stop(), 'stop', some(0.5)],
      [() => this.#start(), 'start', 1 + some(1)],
      [() => this.#break(), 'the database goes', some(0.7)],
      [() => this.#heal(), 'the database comes', theme === 'cut' ? 0.4 : 1],
      [() => this.#cut(), 'one is cut off', themed('cut', 2)],
      [() => this.#withoutDatabase(), 'the database is away for minutes', theme === 'cut' ? 0.5 : some(0.05)],
      [() => this.#silence(), 'one is cut off for minutes', theme === 'cut' ? 0.7 : some(0.05)],
      [() => this.#fill(), 'a disk is full', themed('disk', 3)],
      [() => this.#sicken(), 'one kind of call fails', themed('sick', 2)],
    ]
  }

  #rates(): FaultRates {
    const { random } = this
    const rate = () => (random.next() < 0.5 ? 0 : random.next() * random.pick([0.02, 0.1, 0.3]))
    return {
      refused: rate(),
      lostCommit: rate(),
      lostAnswer: rate(),
      deadlock: rate(),
      slow: rate(),
      unexpected: random.next() < 0.8 ? 0 : 0.05,
    }
  }

  async run(): Promise<void> {
    const { random } = this
    await this.#furnish()
    for (let i = random.int(1, 4); i > 0; i--) this.#start()
    await this.timeline.advance(10)
    for (let step = random.int(10, 80); step > 0; step--) {
      const [action, name] = this.#choose()
      this.#around.note(`${(this.timeline.monotonic / 1000).toFixed(3)} ${name}`)
      await action()
      await this.#check()
    }
    await this.#end()
  }

  #choose() {
    let at = this.random.next() * this.#weights.reduce((sum, [, , weight]) => sum + weight, 0)
    return this.#weights.find(([, , weight]) => (at -= weight) < 0) ?? this.#weights[0]!
  }

  async #check(): Promise<void> {
    await settled()
    const [crash] = this.timeline.crashes
    if (crash !== undefined) throw crash
    this.expected.check(this.gateways)
    for (const pending of this.#pending.values()) this.#inTime(pending)
    const waiting = new Set([...this.#pending.values()].map(({ gateway }) => gateway))
    for (const gateway of this.#up()) this.expected.checkHolds(gateway, waiting.has(gateway))
  }

  async #furnish(): Promise<void> {
    const { random } = this
    for (let a = random.int(1, 2); a > 0; a--) {
      const credit = random.int(100, 1_000) * random.pick([1, 10, 1_000])
      const budget = firstLimit(this.#limit(credit))
      const account = await this.#admin.accounts.create({ name: `account ${a}`, groups: ['default'], budget }, SETUP)
      this.accounts.set(account.id, account)
      await topUp(this.#admin, account.id, credit, 'opening')
      for (let k = random.int(1, 2); k > 0; k--) {
        const cap = firstLimit(this.#limit(credit))
        const hash = String(++this.#count).padStart(64, '0')
        const key = await this.#admin.keys.create(newKey(account.id, { name: `key ${k}`, hash, cap }), SETUP)
        this.keys.push(key)
      }
    }
  }

  /** A cap or budget, none in half of the cases. */
  #limit(credit: number): SetLimit | null {
    const { random } = this
    if (random.next() < 0.5) return null
    return { amount: amountOf(random.int(10, credit * 1.5)), every: random.pick([null, ...EVERY, ...EVERY]) }
  }

  #limits({ cap, accountId }: Key): { cap: Limit | null; budget: Limit | null } {
    return { cap, budget: this.accounts.get(accountId)!.budget }
  }

  #limitPurse(kind: 'k' | 'b', limit: Limit, key: Key, nowMs: number): PurseId {
    const period = periodOf(limit, nowMs, this.#admin.zone)
    const id = kind === 'k' ? key.id : key.accountId
    return limitPurse(kind, id, period === null ? null : periodName(period))
  }

  /** What somebody who asks now has to be held against. */
  #purses(key: Key, nowMs: number): PurseId[] {
    const { cap, budget } = this.#limits(key)
    const of = (kind: 'k' | 'b', limit: Limit | null): PurseId[] => {
      if (limit === null) return []
      const purse = this.#limitPurse(kind, limit, key, nowMs)
      const state = this.expected.purse(purse)
      if (!state.there) state.credit = limit.amount
      return [purse]
    }
    return [...new Set([accountPurse(key.accountId), keyPurse(key.id), ...of('k', cap), ...of('b', budget)])]
  }

  /** The hold that somebody got who asked when these were the purses. */
  #opened(gateway: Gateway, hold: Hold, key: Key, purses: PurseId[]): OpenHold {
    const held = [hold.account, hold.cap, hold.budget].flatMap(lease => (lease === null ? [] : [lease.purse]))
    const wrong = held.find(purse => !purses.includes(purse))
    if (wrong !== undefined) throw new Broken(`${gateway.name} held against ${wrong}, not ${purses.join(' ')}`)
    const unleased = purses.filter(purse => !held.includes(purse))
    const capped = key.cap?.every === null
    const missing = unleased.find(purse => capped || purse !== keyPurse(key.id))
    if (missing !== undefined) throw new Broken(`${gateway.name} held nothing against ${missing}`)
    const open = { gateway, hold, key, purses, unleased }
    this.expected.holds.push(open)
    return open
  }

  /** Somebody sets another cap or budget, or none. */
  async #change(): Promise<void> {
    const { random } = this
    const i = random.int(0, this.keys.length - 1)
    const credit = this.expected.purse(accountPurse(this.keys[i]!.accountId)).credit ?? 1_000
    const next = this.#limit(Math.max(100, credit))
    await this.#set(i, random.next() < 0.5 ? 'cap' : 'budget', next)
  }

  /** Sets the cap of the key with this index, or the budget of its account. */
  async #set(index: number, name: 'cap' | 'budget', next: SetLimit | null): Promise<void> {
    const key = this.keys[index]!
    const { id, accountId } = key
    const atMs = this.timeline.now
    this.#around.note(`  the ${name} of ${id}: ${JSON.stringify(next)}`)
    const changed = { limit: changedLimit(this.#limits(key)[name], next, atMs, this.#admin.zone), atMs }
    if (name === 'cap') this.keys[index] = await this.#admin.keys.update(id, { cap: changed }, SETUP)
    else this.accounts.set(accountId, await this.#admin.accounts.update(accountId, { budget: changed }, SETUP))
    for (const purse of this.expected.purses.keys()) if (!purse.startsWith('a')) this.expected.limitChanged(purse, atMs)
  }

  #limitNow(purse: PurseId): Limit | null {
    const id = Number.parseInt(purse.slice(1), 10)
    if (purse.startsWith('b')) return this.accounts.get(id)?.budget ?? null
    return this.keys.find(key => key.id === id)?.cap ?? null
  }

  /** The wall clock goes on to the last minute of a day, a week or a month, and perhaps over its end. */
  async #nextPeriod(): Promise<void> {
    const { random, timeline } = this
    const { endMs } = periodAt(random.pick(EVERY), timeline.now, this.#admin.zone)
    timeline.wallOffset += Math.max(0, endMs - random.int(0, 60_000) - timeline.now)
    await timeline.advance(random.int(0, 30_000))
    for (let i = random.int(0, 3); i > 0; i--) this.#reserve()
    await timeline.advance(random.int(0, 40_000))
  }

  #up(): Gateway[] {
    return this.gateways.filter(gateway => gateway.state === 'up')
  }

  #await(gateway: Gateway | null, what: string, promise: Promise<unknown>, withinMs: number | null = null): void {
    const untilMs = withinMs === null ? null : this.timeline.monotonic + withinMs
    const pending = { gateway, what, untilMs }
    const watched = promise.finally(() => {
      this.#pending.delete(watched)
      this.#inTime(pending)
    })
    watched.catch(error => this.timeline.crashes.push(error))
    this.#pending.set(watched, pending)
  }

  #inTime({ gateway, what, untilMs }: Pending): void {
    if (untilMs !== null && this.timeline.monotonic > untilMs)
      throw new Broken(`${gateway?.name} let wait for ${this.timeline.monotonic - untilMs} ms too long: ${what}`)
  }

  #reserve(): void {
    const { random } = this
    const gateway = this.#up().length > 0 ? random.pick(this.#up()) : null
    if (gateway === null || !gateway.ledger!.accepting) return
    const key = random.pick(this.keys)
    const credit = this.expected.purse(accountPurse(key.accountId)).credit as number
    const amount = amountOf(random.int(0, Math.max(0, credit) / random.pick([1, 3, 10, 30])))
    const purses = this.#purses(key, gateway.clock.now())
    const answer = gateway.ledger!.reserve(this.accounts.get(key.accountId)!, key, amount)
    const answered = (result: Awaited<typeof answer>) => {
      this.#around.note(
        `  ${gateway.name}: ${amount} of ${key.id}: ${result instanceof Hold ? 'held' : result.refused}`,
      )
      if (result instanceof Hold) this.#opened(gateway, result, key, purses)
    }
    if (answer instanceof Promise) this.#await(gateway, `reserve of ${amount}`, answer.then(answered), MONEY_WAIT_MS)
    else answered(answer)
  }

  /** A hold, which is then not open any more. */
  #take(): OpenHold | null {
    const { holds } = this.expected
    return holds.length === 0 ? null : (holds.splice(this.random.int(0, holds.length - 1), 1)[0] as OpenHold)
  }

  #settle(): void {
    const { random } = this
    const open = this.#take()
    if (open === null) return
    const { gateway, hold, key } = open
    const charge =
      random.next() < 0.1 ? random.int(0, hold.amount * 2) : random.pick([0, hold.amount, random.int(0, hold.amount)])
    const row = this.#row(key, charge)
    const besides = random.next() < 0.2 ? this.#besides(row, key) : []
    const made = [row, ...besides].map(one => this.expected.charged(open, one))
    const group = gateway.ledger!.settle(hold, row, besides)
    this.#around.note(`  ${gateway.name}: ${charge} of ${hold.amount}, and ${besides.length} attempts beside it`)
    const said = () => {
      for (const one of made) one.state = 'kept'
    }
    this.#await(gateway, `settle of ${row.requestId}`, whenKept(group).then(said))
  }

  #row(key: Key, charge: number): UsageRow {
    return usageRow(`${idAt(this.timeline.now)}${String(++this.#count).padStart(11, '0')}`, key, charge)
  }

  /** Rows of attempts of the same request that cost something and are not charged. */
  #besides({ requestId }: UsageRow, key: Key): UsageRow[] {
    const row = (nth: number) => usageRow(attemptId(requestId, nth), key, 0, { cost: micro(this.random.int(1, 99)) })
    return Array.from({ length: this.random.int(1, 2) }, (_, i) => row(i + 1))
  }

  #void(): void {
    const open = this.#take()
    if (open !== null) open.gateway.ledger!.void(open.hold)
  }

  #grow(): void {
    const { random } = this
    const { holds } = this.expected
    if (holds.length === 0) return
    const { gateway, hold } = random.pick(holds)
    const amount = amountOf(random.int(0, hold.amount))
    if (gateway.ledger!.grow(hold, amount)) return
    this.#await(gateway, `growth by ${amount}`, gateway.ledger!.growLater(hold, amount), MONEY_WAIT_MS)
  }

  async #topUp(): Promise<void> {
    const key = this.random.pick(this.keys)
    await topUp(this.#admin, key.accountId, this.random.int(1, 5_000), `t${++this.#count}`)
  }

  /** An operator takes money out of an account, whatever the gateways have leased of it. */
  #takeOut(): void {
    const { random } = this
    const account = this.accounts.get(random.pick(this.keys).accountId)!
    const credit = this.expected.purse(accountPurse(account.id)).credit as number
    const amount = random.int(1, Math.max(1, credit / random.pick([1, 3, 10, 30])))
    const force = random.next() < 0.3
    this.#around.note(`  ${amount} of ${account.name}${force ? ', by force' : ''}`)
    this.#await(null, `debit of ${amount}`, this.#debits.take(account.name, amount, force))
  }

  #flush(): void {
    const [gateway] = this.#up()
    if (gateway !== undefined) this.#await(gateway, 'flush', gateway.ledger!.flush())
  }

  #start(): void {
    const alive = this.gateways.filter(gateway => gateway.state !== 'down')
    if (alive.length >= 4) return
    const host = `host${this.random.int(1, this.#hosts)}`
    this.#launch(host)
  }

  #launch(host: string): Gateway {
    const gateway = new Gateway(`p${String(++this.#count).padStart(4, '0')}`, host, this.#journalLimit, this.#around)
    this.gateways.push(gateway)
    gateway.start()
    return gateway
  }

  #kill(): void {
    const alive = this.gateways.filter(gateway => gateway.state !== 'down')
    if (alive.length === 0) return
    const gateway = this.random.pick(alive)
    const half = `00000000 {"row":{"requestId":"${'x'.repeat(60)}`
    gateway.kill(Buffer.from(this.random.next() < 0.5 ? '' : half.slice(0, this.random.int(1, half.length))))
    this.#gone(gateway)
  }

  #gone(gateway: Gateway): void {
    this.expected.died(gateway)
    for (const [promise, { gateway: of }] of this.#pending) if (of === gateway) this.#pending.delete(promise)
  }

  /** Only after its exchanges have ended. */
  #stop(): void {
    const waiting = [...this.#pending.values()].filter(({ what }) => !what.startsWith('settle'))
    const busy = new Set([...this.expected.holds, ...waiting].map(({ gateway }) => gateway))
    const idle = this.#up().filter(gateway => !busy.has(gateway))
    if (idle.length > 0) this.#leave(this.random.pick(idle))
  }

  #leave(gateway: Gateway): void {
    gateway.stop(() => this.#gone(gateway))
  }

  #break(): void {
    if (this.network.down === 'no') this.network.goneMs = this.timeline.monotonic
    this.network.down = this.random.pick(['refuses', 'hangs', 'stops', 'stops'])
  }

  #heal(): void {
    if (this.network.down !== 'no') this.network.awayMs = this.timeline.monotonic
    this.network.down = 'no'
    this.network.sick = null
    for (const gateway of this.gateways) gateway.driver.cut = false
  }

  #sicken(): void {
    this.network.sick = this.random.pick([
      'settle',
      'lease',
      'giveBack',
      'beat',
      'bury',
      'holders',
      'changes',
      'recall',
    ])
  }

  #cut(): void {
    if (this.#up().length > 0) this.random.pick(this.#up()).driver.cut = true
  }

  async #withoutDatabase(): Promise<void> {
    this.#break()
    await this.timeline.advance(this.random.int(100_000, 200_000))
    await this.#check()
    this.#heal()
  }

  /** Long enough for the others to take it for dead; sometimes it tries to go on while it is. */
  async #silence(): Promise<void> {
    this.#cut()
    await this.timeline.advance(this.random.int(100_000, 180_000))
    for (let i = this.random.int(0, 6); i > 0; i--) this.#reserve()
    await this.#check()
    for (const gateway of this.gateways) gateway.driver.cut = false
  }

  #fill(): void {
    const { room } = this.#around.disk
    const [gateway] = this.#up()
    if (gateway === undefined) return
    if (room.has(gateway.folder)) room.delete(gateway.folder)
    else room.set(gateway.folder, this.random.int(0, 1_000))
  }

  // --- the end

  async #end(): Promise<void> {
    this.#around.note('--- all is well again, and everything comes to its end')
    this.#heal()
    this.network.rates = NO_FAULTS
    this.#around.disk.room.clear()
    await this.#resolveAll()
    for (const host of Array.from({ length: this.#hosts }, (_, i) => `host${i + 1}`)) this.#launch(host)
    await this.timeline.advance(15_000 + this.network.timeoutMs)
    await this.#check()
    this.#nothingWaits()
    const { endMs } = periodAt('day', this.timeline.now, this.#admin.zone)
    if (endMs - this.timeline.now < HOUR) this.timeline.wallOffset += 2 * HOUR // no period ends from here on
    await this.#nobodyOverdraws()
    await this.#someoneGetsIt()
    await this.#allIsFree()
    await this.#allLimitsEnd()
    await this.#allIsCharged()
    await this.#allIsTakenOut()
    for (const gateway of this.#up()) this.#leave(gateway)
    await this.timeline.advance(1_000)
    await this.#check()
    await this.#last()
    this.expected.checkEnd()
    const left = readdirSync(this.#around.disk.root, { recursive: true, encoding: 'utf8' }).filter(f => f.includes('/'))
    if (left.length > 0) throw new Broken(`files are left: ${left.join(' ')}`)
  }

  /** Also what is held only now that the database answers. */
  async #resolveAll(): Promise<void> {
    for (let calm = 0; calm < 10 && (calm < 2 || this.#pending.size > 0); calm++) {
      while (this.expected.holds.length > 0) {
        calm = 0
        if (this.random.next() < 0.5) this.#settle()
        else this.#void()
        await this.#check()
      }
      await this.timeline.advance(1_500)
    }
  }

  async #untilAnswered(): Promise<void> {
    for (let i = 0; i < LONGEST_ANSWER_MS / 100 && this.#pending.size > 0; i++) await this.timeline.advance(100)
    await this.#check()
    this.#nothingWaits()
  }

  #nothingWaits(): void {
    for (const { gateway, what } of this.#pending.values())
      throw new Broken(`${gateway?.name ?? 'the store'} never answered: ${what}`)
    for (const { name, state } of this.gateways)
      if (state === 'starting' || state === 'stopping') throw new Broken(`${name} is ${state} for ever`)
  }

  /** What is left for a key, of its account, its cap and its budget. */
  #rest(key: Key): number {
    return Math.min(...this.#purses(key, this.timeline.now).map(purse => this.expected.balance(purse)))
  }

  async #ask(gateway: Gateway, key: Key, amount: number): Promise<OpenHold | null> {
    for (let tries = TRIES; tries > 0; tries--) {
      const purses = this.#purses(key, gateway.clock.now())
      const answer = await gateway.ledger!.reserve(this.accounts.get(key.accountId)!, key, amountOf(amount))
      this.#around.note(
        `  ${gateway.name}: ${amount} of ${key.id}: ${answer instanceof Hold ? 'held' : JSON.stringify(answer)}`,
      )
      if (answer instanceof Hold) return this.#opened(gateway, answer, key, purses)
      if (answer.refused !== 'unavailable') return null
      await pause(gateway.clock, AGAIN_MS)
    }
    return null
  }

  #release(open: OpenHold): void {
    this.expected.holds.splice(this.expected.holds.indexOf(open), 1)
    open.gateway.ledger!.void(open.hold)
  }

  /** Now that every charge is in the books, all of them together can hold what is left, and not a bit more. */
  async #nobodyOverdraws(): Promise<void> {
    this.expected.nothingIsExcused()
    for (const key of this.keys) {
      const rest = this.#rest(key)
      for (let i = 12; i > 0; i--) {
        const gateway = this.random.pick(this.#up())
        this.#await(gateway, 'a part', this.#ask(gateway, key, this.random.int(0, Math.max(0, rest) / 4)))
        if (this.random.next() < 0.5) await this.#check()
      }
      await this.#untilAnswered()
      for (const open of [...this.expected.holds]) this.#release(open)
    }
  }

  /** Several want most of what is left at once: one of them gets it. */
  async #someoneGetsIt(): Promise<void> {
    this.network.slowMs = 100
    this.network.rates = { ...NO_FAULTS, slow: this.random.pick([0, 0.3]) }
    for (const key of this.keys) {
      const need = Math.floor(this.#rest(key) * 0.6)
      if (need <= 0) continue
      for (const gateway of this.#up()) this.#spend(gateway, key, need / 8)
      await this.timeline.advance(this.random.pick([0, 20, 1_500]))
      const holds: (OpenHold | null)[] = []
      for (const gateway of this.#up())
        this.#await(
          gateway,
          `${need}`,
          this.#ask(gateway, key, need).then(open => holds.push(open)),
        )
      await this.#untilAnswered()
      for (const open of holds) if (open !== null) this.#release(open)
      if (holds.every(open => open === null))
        throw new Broken(`nobody got ${need} for key ${key.id}; leases ${this.expected.leases()}`)
    }
  }

  /** A little, so that leases are renewed and returned just when others ask. */
  #spend(gateway: Gateway, key: Key, most: number): void {
    const asked = this.#ask(gateway, key, this.random.int(0, most))
    this.#await(
      gateway,
      'a little',
      asked.then(open => open !== null && this.#release(open)),
    )
  }

  /** Whatever is left can be reserved in one, on any gateway. */
  async #allIsFree(): Promise<void> {
    for (const key of this.keys) {
      const gateway = this.random.pick(this.#up())
      const rest = this.#rest(key)
      if (rest <= 0) continue
      let open: OpenHold | null = null
      this.#await(
        gateway,
        `reserve of all that is left (${rest})`,
        this.#ask(gateway, key, rest).then(o => void (open = o)),
      )
      await this.#untilAnswered()
      if (open === null)
        throw new Broken(`${gateway.name}: ${rest} are left, but refused; leases ${this.expected.leases()}`)
      this.#release(open)
    }
  }

  /** A limit that is lowered to what was spent ends it, whatever the gateways have leased. */
  async #allLimitsEnd(): Promise<void> {
    for (let i = 0; i < this.keys.length; i++) {
      for (const name of ['cap', 'budget'] as const) {
        const key = this.keys[i]!
        const limit = this.#limits(key)[name]
        if (limit === null) continue
        await this.#leaseSome(key)
        const purse = this.#limitPurse(name === 'cap' ? 'k' : 'b', limit, key, this.timeline.now)
        const spent = (this.expected.purse(purse).credit as number) - this.expected.balance(purse)
        await this.#set(i, name, { amount: amountOf(spent), every: limit.every })
        await this.#nobodyGets([this.keys[i]!])
        await this.#set(i, name, null)
      }
    }
  }

  /** One charge far above its hold takes more than is left: no gateway holds anything then, whatever it has leased. */
  async #allIsCharged(): Promise<void> {
    for (const { id } of this.accounts.values()) {
      const rest = this.expected.balance(accountPurse(id))
      const keys = this.keys.filter(key => key.accountId === id)
      if (rest <= 0 || keys.length === 0) continue
      for (const key of keys) await this.#leaseSome(key)
      const [gateway, key] = [this.random.pick(this.#up()), this.random.pick(keys)]
      let open: OpenHold | null = null
      this.#await(
        gateway,
        'one more',
        this.#ask(gateway, key, 1).then(o => void (open = o)),
      )
      await this.#untilAnswered()
      if (open === null) throw new Broken(`${gateway.name}: ${rest} are left, but 1 was refused`)
      this.#overcharge(open, rest + this.random.int(1, 100))
      await this.#nobodyGets(keys)
      await topUp(this.#admin, id, 1_000 + rest, `more ${id}`)
      await this.#check()
    }
  }

  #overcharge(open: OpenHold, charge: number): void {
    const { gateway, hold, key } = open
    this.#around.note(`  ${gateway.name}: ${charge} of ${hold.amount}`)
    this.expected.holds.splice(this.expected.holds.indexOf(open), 1)
    const made = this.expected.charged(open, this.#row(key, charge))
    const kept = whenKept(gateway.ledger!.settle(hold, made.row, []))
    this.#await(
      gateway,
      `settle of ${made.row.requestId}`,
      kept.then(() => void (made.state = 'kept')),
    )
  }

  /** What nobody holds can be taken out, and not a bit more; by force also more, and then nobody gets anything. */
  async #allIsTakenOut(): Promise<void> {
    for (const { id, name } of this.accounts.values()) {
      const keys = this.keys.filter(key => key.accountId === id)
      const rest = this.expected.balance(accountPurse(id))
      if (rest > 0) {
        await this.#takeAtEnd(name, rest + 1, rest)
        await this.#takeAtEnd(name, this.random.int(1, Math.ceil(rest / 2)), null)
        for (const key of keys) await this.#leaseSome(key)
      }
      await this.#takeAtEnd(name, 1 + Math.max(0, rest), null, true)
      await this.#nobodyGets(keys)
    }
  }

  /** Every gateway leases a little more than it needs, when the last recall is forgotten. */
  async #leaseSome(key: Key): Promise<void> {
    await this.timeline.advance(11_000)
    for (const gateway of this.#up()) this.#spend(gateway, key, Math.max(0, this.#rest(key)) / 200)
    await this.#untilAnswered()
  }

  /** Soon after the money has ended: the gateways must have heard of it. */
  async #nobodyGets(keys: readonly Key[]): Promise<void> {
    await this.timeline.advance(3_000)
    for (const key of keys)
      for (const gateway of this.#up()) this.#await(gateway, 'one that is refused', this.#refused(gateway, key))
    await this.#untilAnswered()
  }

  /** `left`: what the refusal has to say; null = the debit has to be made. */
  async #takeAtEnd(name: string, amount: number, left: number | null, force = false): Promise<void> {
    const compare = (available: number | null) => {
      if (available !== left) throw new Broken(`${name}: a debit of ${amount} found ${available} instead of ${left}`)
    }
    this.#await(null, `debit of ${amount}`, this.#debits.take(name, amount, force).then(compare))
    await this.#untilAnswered()
  }

  async #refused(gateway: Gateway, key: Key): Promise<void> {
    const open = await this.#ask(gateway, key, 1)
    if (open !== null) throw new Broken(`${gateway.name} holds money for ${key.id}, which has none`)
  }

  /** One more that comes and goes when all others have: what dead ones left is given back by then. */
  async #last(): Promise<void> {
    const last = this.#launch('host1')
    await this.timeline.advance(10_000)
    for (let i = 0; i < 20 && this.expected.holders() > 1; i++) await this.timeline.advance(10_000)
    this.#leave(last)
    await this.timeline.advance(1_000)
    await this.#check()
    this.#nothingWaits()
  }
}
