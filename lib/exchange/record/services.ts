/** What all exchanges of a process share. It is built once when the process starts; a reload replaces the world in it. */
import type { Answers } from '../../access/answer-owners.ts'
import type { Buffered, Inflating } from '../../access/open-requests.ts'
import type { KeyUses, KeyCache } from '../../access/keys.ts'
import type { Places } from '../../access/places.ts'
import type { RateLimiter } from '../../access/rate.ts'
import { LargeBodies } from '../../base/slices.ts'
import type { Clock } from '../../base/clock.ts'
import type { DisputeRests } from '../../channels/disputed.ts'
import type { Health, KeyHealth } from '../../channels/health.ts'
import type { RetryBudget } from '../../channels/retry-budget.ts'
import type { UnpaidRests } from '../../channels/unpaid.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../terms/metrics.ts'
import type { Pools } from '../../upstream/pools.ts'
import { threadsFor, TranslationThreads } from '../../translate/thread.ts'
import type { Signers } from '../../upstream/signers.ts'
import type { World } from '../../world/world.ts'
import { InputSkew, UpstreamLog } from './upstream-log.ts'
import { ModelStats } from './model-stats.ts'
import { ReadOns } from './read-ons.ts'
import { RefusalLog } from './refusal-log.ts'
import { Sweeper } from './sweeper.ts'
import { TrafficLog } from './traffic-log.ts'
import { Uncovered } from './uncovered.ts'
import { upstreamRefusesKey } from '../../upstream/own-request.ts'

export interface Services {
  clock: Clock
  nextId: () => string
  log: Logger
  metrics: Metrics
  keys: KeyCache
  keyUses: KeyUses
  answers: Answers
  rates: RateLimiter
  places: Places
  buffered: Buffered
  inflating: Inflating
  ledger: Ledger
  store: Store
  health: Health
  disputeRests: DisputeRests
  unpaidRests: UnpaidRests
  retries: RetryBudget
  pools: Pools
  signers: Signers
  pictures: Pictures
  sweeper: Sweeper
  /** The newest world; an exchange keeps the one that was newest when its body was whole. */
  world: World
  readOns: ReadOns
  /** What is known of the answers of models. */
  stats: ModelStats
  /** Which accounts have a request open that their money does not cover. */
  uncovered: Uncovered
  upstreamLog: UpstreamLog
  skew: InputSkew
  refusals: RefusalLog
  traffic: TrafficLog
  largeBodies: LargeBodies
  /** Where large bodies are translated. */
  translating: TranslationThreads
  /** The process is shutting down and takes no new work. */
  draining: boolean
  /** By how much timers are late at the moment. */
  lag: { readonly ms: number }
  /** How many exchanges have not finished, and how many kept pictures are on their way to clients. */
  openCount: number
}

/** The services that this room makes of those of the rooms below. `workers`: how many processes the gateway is. */
export const ownServices = (
  { log, clock, store, metrics, ledger }: Pick<Services, 'log' | 'clock' | 'store' | 'metrics' | 'ledger'>,
  workers: number,
): Pick<
  Services,
  | 'sweeper'
  | 'readOns'
  | 'stats'
  | 'uncovered'
  | 'upstreamLog'
  | 'skew'
  | 'refusals'
  | 'traffic'
  | 'largeBodies'
  | 'translating'
> => {
  const upstreamLog = new UpstreamLog(log, clock)
  return {
    sweeper: new Sweeper(clock),
    readOns: new ReadOns(),
    stats: new ModelStats({ store, clock, log }),
    uncovered: new Uncovered({ store, clock, log, health: ledger.health }),
    upstreamLog,
    skew: new InputSkew(skew => upstreamLog.skewed(skew)),
    refusals: new RefusalLog({ store, clock, metrics, log }),
    traffic: new TrafficLog({ store, clock, metrics, log, holder: ledger.holder }),
    largeBodies: new LargeBodies(clock),
    translating: new TranslationThreads(
      {
        onOver: (what, outcome) => metrics.translation(what, outcome),
        onDied: error => log.error({ err: error }, 'a thread that translates large bodies died'),
      },
      { threads: threadsFor(workers) },
    ),
  }
}

/**
 * Finds out what an upstream refuses: its channel's key, or only what one account asks for. The gateway asks a
 * question of its own with the key, and looks whether that is refused too. True when the key is refused, or when
 * nothing can be signed with a credential that is no plain key. False also when the channel or the key does not exist
 * any more.
 */
export async function proveKey(services: Services, name: string, { secret }: KeyHealth): Promise<boolean> {
  const { pools, clock, world, signers } = services
  const channel = world.routes.channels.find(one => one.name === name)
  const key = channel?.keys.find(one => one.secret === secret)
  if (channel === undefined || key === undefined) return false
  if (key.credential !== null) return await signers.cannotSign(key)
  return await upstreamRefusesKey(pools, clock, world.config.wire, channel, key)
}
