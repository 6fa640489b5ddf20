import {
  type ChannelIdentity,
  type KeyHealth,
  Health,
  type Heard,
  type AttemptOutcome,
} from '../../lib/channels/health.ts'
import type { Channel } from '../../lib/terms/records.ts'
import { TestClock } from '../support/clock.ts'

export const channel = (name: string, change: Partial<Channel> = {}): Channel => ({
  name,
  baseUrl: `https://${name}.example`,
  kind: null,
  paths: {},
  query: {},
  protocols: ['chat'],
  keys: [{ key: `up-${name}`, maxConcurrency: 0 }],
  authHeader: null,
  headers: {},
  passHeaders: [],
  groups: ['default'],
  models: { m: 'm' },
  weight: 1,
  priority: 0,
  maxConcurrency: 0,
  proxy: null,
  ca: null,
  http2: false,
  private: false,
  translate: [],
  cacheMarks: 'off',
  finish: 'strict',
  readsMax: [],
  thoughts: null,
  searches: null,
  budget: null,
  cost: null,
  status: 'enabled',
  ...change,
})

export const identity = (name: string, secrets = ['k'], origin = 'https://x', basePath = ''): ChannelIdentity => ({
  name,
  connection: { origin },
  basePath,
  keys: secrets.map(secret => ({ secret, fingerprint: `of ${secret}` })),
})

let account = 0
/** Each time of another account, so that it is about the channel. */
export const heard = (outcome: AttemptOutcome, change: Partial<Heard> = {}): Heard => ({
  outcome,
  account: ++account,
  model: 'm',
  sentMs: 0,
  channelRested: false,
  keyRested: false,
  retryAfterS: 0,
  ...change,
})

/** A health whose channels are spoken of by name. */
export function namedHealth() {
  const clock = new TestClock()
  const refused: string[] = []
  const health = new Health({ clock, onAuthFailure: name => refused.push(name), random: () => 0 })
  const of = (name: string) => health.of(identity(name))
  const report = (name: string, outcome: AttemptOutcome, retryAfterS?: number, key = 0) =>
    health.report(of(name), of(name).keys[key] as KeyHealth, heard(outcome, { retryAfterS: retryAfterS ?? 0 }))
  return {
    clock,
    refused,
    health,
    report,
    fail: (name: string) => {
      for (let i = 0; i < 5; i++) report(name, 'failed')
    },
    state: (name: string) => of(name).state(clock.monotonic()).state,
    mayAsk: (name: string) => of(name).mayAsk(clock.monotonic()),
    restMs: (name: string) => of(name).breaker.restMs(clock.monotonic()),
    admit: (name: string) => of(name).breaker.admit(clock.monotonic()),
  }
}
