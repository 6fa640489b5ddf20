/**
 * How channels fare, for operators: what the serving processes know of one (its breaker, its last failures), how it answered lately by
 * the sums of usage, and what an operator may do about it. A channel can rest or be woken in the gateway that is asked; what is to
 * hold for all gateways and for good is the channel's `status`.
 */
import { HOUR_MS, iso } from '../../base/clock.ts'
import { z } from 'zod'
import * as kind from '../../config/scalars.ts'
import type { Store } from '../../store/store.ts'
import {
  type ChannelFailure,
  type ChannelSeen,
  FAILURE_CLASSES,
  type LiveChannels,
  type RestSeen,
  type TrialSeen,
} from '../../terms/channel-seen.ts'
import { type Protocol, PROTOCOLS } from '../../protocols/names.ts'
import type { Channel } from '../../terms/records.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { OperationError } from '../error.ts'
import { timeText } from '../fields.ts'
import { type Sent, read } from '../read.ts'
import { boundOf } from '../usage/totals.ts'

export type ChannelDeps = Pick<OperationDeps, 'store' | 'clock'> & {
  /** null: no serving process can be asked. */
  channels: LiveChannels | null
}

export const restForm = z.strictObject({ for: kind.duration({ least: 1_000 }).prefault('10m') })
export const trialForm = z.strictObject({
  model: kind.modelName.optional(),
  protocol: kind.oneOf(...PROTOCOLS).optional(),
  key: kind.whole(1, 1000).prefault(1),
})

const rest = {
  state: z.enum(['closed', 'open', 'half_open']),
  why: z.enum(['failed', 'auth', 'hand']).nullable(),
  rest_ms: z.int(),
  open: z.int(),
}
export const channelHealthAnswer = z
  .strictObject({
    ...rest,
    keys: z.array(z.strictObject(rest)),
    lately: z.record(z.string(), z.int()),
    failures: z.array(
      z.strictObject({
        at: timeText,
        class: z.enum(FAILURE_CLASSES),
        status: z.int().nullable(),
        error: z.string().nullable(),
        reason: z.string().nullable(),
        upstream_id: z.string().nullable(),
        request_id: z.string().nullable(),
        model: z.string(),
        key: z.int(),
        ms: z.int(),
      }),
    ),
  })
  .meta({ id: 'ChannelHealth' })

export const trialAnswer = z
  .strictObject({
    data: z.array(
      z.strictObject({
        model: z.string(),
        protocol: z.string(),
        ok: z.boolean().nullable(),
        class: z.string().nullable(),
        status: z.int().nullable(),
        first_byte_ms: z.int().nullable(),
        ms: z.int().nullable(),
        error: z.string().nullable(),
        reason: z.string().nullable(),
        upstream_id: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'ChannelTrials' })

const shownRest = ({ state, why, restMs, open }: RestSeen) => ({ state, why, rest_ms: restMs, open })

const shownFailure = (failure: ChannelFailure) => ({
  at: iso(failure.atMs),
  class: failure.class,
  status: failure.status === 0 ? null : failure.status,
  error: failure.error,
  reason: failure.reason,
  upstream_id: failure.upstreamId,
  request_id: failure.requestId,
  model: failure.model,
  key: failure.key,
  ms: failure.tookMs,
})

const shownHealth = (seen: ChannelSeen) => ({
  ...shownRest(seen),
  keys: seen.keys.map(shownRest),
  lately: seen.lately,
  failures: seen.failures.map(shownFailure),
})

/** The health that `channelHealth` has, with the last failure only, because a list has many channels. */
export async function lastHealth({ channels }: Pick<ChannelDeps, 'channels'>, name: string) {
  const seen = (await channels?.order({ what: 'look', channel: name })) ?? null
  return seen === null ? null : shownHealth({ ...seen, failures: seen.failures.slice(0, 1) })
}

/** What there is to know of a channel beside its row. `health` null: no serving process can be asked, or none has the channel. */
export async function channelHealth({ store, clock, channels }: ChannelDeps, name: string) {
  const seen = (await channels?.order({ what: 'look', channel: name })) ?? null
  const fromMs = (Math.floor((await storeNow({ store, clock })) / HOUR_MS) - 1) * HOUR_MS
  const query = { by: [], zone: 'UTC', fromMs, channel: name, attempts: 'without', firstBytes: true } as const
  const [sums] = await store.usage.summary(query)
  const buckets = sums?.firstBytes?.buckets ?? []
  return {
    health: seen === null ? null : shownHealth(seen),
    traffic: {
      from: iso(fromMs),
      requests: sums?.requests ?? 0,
      errors: sums?.errors ?? 0,
      first_byte_p50_up_to_ms: boundOf(buckets, 0.5),
      first_byte_p99_up_to_ms: boundOf(buckets, 0.99),
    },
  }
}

async function channelNamed(store: Store, name: string): Promise<Channel> {
  const channel = (await store.catalogue.read()).channels.find(one => one.name === name)
  if (channel === undefined) throw new OperationError('missing', `there is no channel ${name}`)
  return channel
}

const wantLive = (channels: LiveChannels | null): LiveChannels => {
  if (channels !== null) return channels
  throw new OperationError('conflict', 'only a gateway that runs can do this: name its ops address with --url')
}

const notServed = (name: string): OperationError =>
  new OperationError(
    'conflict',
    `no serving process uses channel ${name}: it is disabled, or its credentials cannot be read`,
  )

/** Lets a channel rest: it gets no requests for so long, in this gateway. */
export async function restChannel({ store, channels }: ChannelDeps, name: string, sent: Sent) {
  const { for: forMs } = read(restForm, sent)
  await channelNamed(store, name)
  const seen = await wantLive(channels).order({ what: 'rest', channel: name, forMs })
  if (seen === null) throw notServed(name)
  return shownHealth(seen)
}

/** Ends all rests of a channel and of its keys, in this gateway. */
export async function wakeChannel({ store, channels }: ChannelDeps, name: string) {
  await channelNamed(store, name)
  const seen = await wantLive(channels).order({ what: 'wake', channel: name })
  if (seen === null) throw notServed(name)
  return shownHealth(seen)
}

/** Requests of our own in one call; more models must be named one by one. */
const MOST_TRIALS = 50

/** Asks the upstream for each model on each protocol with the shortest request there is, one after the other. */
export async function testChannel({ store, channels }: ChannelDeps, name: string, sent: Sent) {
  const { model, protocol, key } = read(trialForm, sent)
  const channel = await channelNamed(store, name)
  const live = wantLive(channels)
  const models = Object.keys(channel.models).filter(one => model === undefined || one === model)
  const protocols = [...new Set(channel.protocols)].filter(one => protocol === undefined || one === protocol)
  if (models.length === 0) throw new OperationError('missing', `channel ${name} does not serve ${model}`)
  if (protocols.length === 0) throw new OperationError('missing', `channel ${name} does not speak ${protocol}`)
  if (key > channel.keys.length) throw new OperationError('missing', `channel ${name} has ${channel.keys.length} keys`)
  const all = models.flatMap(one => protocols.map(other => [one, other] as const))
  if (all.length > MOST_TRIALS)
    throw new OperationError('conflict', `that are ${all.length} requests, and ${MOST_TRIALS} at most: name a model`)
  const data: ReturnType<typeof shownTrial>[] = []
  for (const [one, other] of all)
    data.push(shownTrial(one, other, await live.try({ channel: name, model: one, protocol: other, key })))
  return { data }
}

const NOT_TRIED = 'not tried: no cheap request of this protocol is known, or no serving process uses the channel'

function shownTrial(model: string, protocol: Protocol, seen: TrialSeen | null) {
  if (seen === null) {
    const nothing = { status: null, first_byte_ms: null, ms: null, error: null, upstream_id: null }
    return { model, protocol, ok: null, class: null, ...nothing, reason: NOT_TRIED }
  }
  return {
    model,
    protocol,
    ok: seen.failure === null,
    class: seen.failure?.class ?? null,
    status: seen.status === 0 ? null : seen.status,
    first_byte_ms: seen.firstByteMs,
    ms: seen.tookMs,
    error: seen.failure?.error ?? null,
    reason: seen.failure?.reason ?? null,
    upstream_id: seen.upstreamId,
  }
}
