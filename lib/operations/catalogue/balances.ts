/**
 * How much of an operator's money is left at the upstream of a channel: what the upstream tells, where the channel's kind has a call
 * for it, or what the operator says was there, less what the channel has cost since. A cost that nobody knows is not 0: with one,
 * what is left by hand is a most, and unknown unless even that is too little.
 *
 * One process of all gateways asks each upstream, now and then and never for a client's request; what was told stands in the store.
 */
import { isoOrNull } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { decimal, formatMicro, micro, type Micro, ZERO } from '../../base/money.ts'
import { Rounds } from '../../base/rounds.ts'
import { balanceCallAt } from '../../catalog-file/upstreams.ts'
import type { Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import type { BalanceSeen, BalanceState, LiveChannels } from '../../terms/channel-seen.ts'
import type { Channel } from '../../terms/records.ts'

const ROUND_MS = 60_000
/** An upstream is asked again after so long. */
const ASKED_EVERY_MS = 600_000
/** The number of keys of a channel that are asked, the first ones. */
const MOST_KEYS = 20

/** The balance of one channel as the admin API shows it. Amounts are decimals of `currency`. */
interface BalanceAnswer {
  source: 'upstream' | 'budget'
  state: BalanceState['state']
  amount: string | null
  currency: string | null
  warn_below: number | null
  /** Why the amount is not known, or not for sure. */
  reason: string | null
  /** When the upstream was asked; of a budget, since when costs count. */
  at: string | null
  /** What the channel has cost since; null = the upstream tells. */
  spent: string | null
  /** What clients were charged for requests whose cost nobody knows. */
  uncosted: string | null
}

type BalanceDeps = { store: Pick<Store, 'usage' | 'balances' | 'catalogue'> }

/** By the names of channels; a channel of which nothing can be known has none. */
export async function upstreamBalances(
  { store }: BalanceDeps,
  channels: readonly Channel[],
): Promise<Map<string, BalanceAnswer>> {
  const all = channels.filter(channel => channel.budget?.amount != null || balanceCallAt(channel) !== null)
  if (all.length === 0) return new Map()
  const told = await store.balances.all()
  const rows: [string, BalanceAnswer][] = []
  for (const channel of all) {
    const amount = channel.budget?.amount ?? null
    const row = amount === null ? tellsOf(channel, told.get(channel.name)) : await leftOf(store, channel, amount)
    rows.push([channel.name, row])
  }
  return new Map(rows)
}

const stateOf = ({ budget }: Channel, amount: number | null, isSure: boolean): BalanceAnswer['state'] => {
  const least = budget?.warnBelow ?? null
  if (amount !== null && least !== null && amount < least) return 'low'
  return amount === null || !isSure ? 'unknown' : 'ok'
}

const shown = ({ budget }: Channel) => ({
  warn_below: budget?.warnBelow == null ? null : decimal(budget.warnBelow),
})

/** The least that the upstream told one of the keys: when that one has nothing, some requests fail. */
function tellsOf(channel: Channel, row: { askedMs: number; told: readonly BalanceSeen[] } | undefined): BalanceAnswer {
  const told = row?.told ?? []
  const known = told.flatMap(one => ('amount' in one ? one : []))
  const least = known.toSorted((a, b) => a.amount - b.amount)[0]
  const isOne = told.length === 1
  const why = told.flatMap((one, i) => ('reason' in one ? `${isOne ? '' : `key ${i + 1}: `}${one.reason}` : []))
  const reason = told.length === 0 ? 'it was not asked yet' : why.join(', ')
  return {
    source: 'upstream',
    state: stateOf(channel, least?.amount ?? null, why.length === 0),
    amount: least === undefined ? null : formatMicro(micro(least.amount)),
    currency: least?.currency ?? null,
    ...shown(channel),
    reason: reason === '' ? null : reason,
    at: isoOrNull(row?.askedMs ?? null),
    spent: null,
    uncosted: null,
  }
}

async function leftOf(store: BalanceDeps['store'], channel: Channel, amount: Micro): Promise<BalanceAnswer> {
  const fromMs = channel.budget?.fromMs ?? null
  const [sums] = await store.usage.summary({
    by: [],
    zone: 'UTC',
    channel: channel.name,
    ...(fromMs === null ? {} : { fromMs }),
  })
  const { cost = ZERO, uncosted = ZERO } = sums ?? {}
  const left = micro(amount - cost)
  return {
    source: 'budget',
    state: stateOf(channel, left, uncosted === 0),
    amount: formatMicro(left),
    currency: 'CNY',
    ...shown(channel),
    reason:
      uncosted === 0 ? null : `at most: of requests for ${formatMicro(micro(uncosted))} CNY the cost is not known`,
    at: isoOrNull(fromMs),
    spent: formatMicro(micro(cost)),
    uncosted: formatMicro(micro(uncosted)),
  }
}

interface BalanceParts {
  store: BalanceDeps['store']
  clock: Clock
  log: Logger
  channels: Pick<LiveChannels, 'balance'>
}

/** Asks upstreams, and keeps what metrics show. */
export class BalanceRounds {
  readonly #parts: BalanceParts
  readonly #rounds: Rounds
  #states = new Map<string, BalanceState>()

  constructor(parts: BalanceParts) {
    this.#parts = parts
    this.#rounds = new Rounds(parts.clock, ROUND_MS, () => this.run())
  }

  get states(): Iterable<readonly [string, BalanceState]> {
    return this.#states
  }

  start(): void {
    this.#rounds.start()
  }

  stop(): void {
    void this.#rounds.stop()
  }

  /** One round. What fails is logged, and the next round tries again. */
  async run(): Promise<void> {
    const { store, log } = this.#parts
    try {
      const channels = (await store.catalogue.read()).channels.filter(({ status }) => status === 'enabled')
      for (const channel of channels) if (!this.#rounds.stopped) await this.#ask(channel)
      this.#keep(channels, await upstreamBalances({ store }, channels))
    } catch (error) {
      if (!(error instanceof StoreUnavailable || this.#rounds.stopped))
        log.error({ err: error }, 'the balances of channels could not be found out')
    }
  }

  async #ask(channel: Channel): Promise<void> {
    const { store, channels } = this.#parts
    const { name, keys, budget, sealed } = channel
    if (sealed === true || budget?.amount != null || balanceCallAt(channel) === null) return
    if (!(await store.balances.take(name, ASKED_EVERY_MS))) return
    const told: BalanceSeen[] = []
    for (let key = 1; key <= Math.min(keys.length, MOST_KEYS); key++)
      told.push((await channels.balance({ channel: name, key })) ?? { reason: 'no serving process has the channel' })
    await store.balances.put(name, told)
  }

  #keep(channels: readonly Channel[], balances: ReadonlyMap<string, BalanceAnswer>): void {
    const states = new Map<string, BalanceState>()
    for (const { name, budget } of channels) {
      const row = balances.get(name)
      if (row === undefined) continue
      const { state, amount, currency, reason } = row
      const isWatched = budget?.warnBelow != null
      const millionths = amount === null ? null : Math.round(Number(amount) * 1_000_000)
      states.set(name, { state, amount: millionths, currency: currency ?? '', isWatched })
      if (isWatched && state !== 'ok' && state !== this.#states.get(name)?.state)
        this.#parts.log.warn(
          { channel: name, balance: amount, currency, reason },
          state === 'low' ? 'the money at an upstream runs out' : 'the money at an upstream is not known',
        )
    }
    this.#states = states
  }
}
