/**
 * Judges what an upstream answers to a request that only counts tokens. The answer is passed on when it is a count. An upstream
 * that does not know the route may answer as its model would, which nobody pays for: its connection is then closed, the client
 * gets an estimate of the gateway's, and the channel is not asked to count on this protocol again until the catalogue changes.
 */
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { Exchange } from '../record/exchange.ts'
import { answerJson } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

/** An answer that is longer, in bytes, is no count. */
const LONGEST_BYTES = 64 * 1024

interface Read {
  readonly events: boolean
  readonly bytes: number
  readonly meter: { readonly terminal: boolean; readonly failed: boolean }
  readonly foreign: boolean
}

const strangers = new WeakMap<CompiledChannel, Set<Protocol>>()

export const countsNot = (channel: CompiledChannel, protocol: Protocol): boolean =>
  strangers.get(channel)?.has(protocol) ?? false

export function asksNoMore(channel: CompiledChannel, protocol: Protocol): void {
  const known = strangers.get(channel)
  if (known === undefined) strangers.set(channel, new Set([protocol]))
  else known.add(protocol)
}

/** True while the answer may still turn out to be a count. */
export const mayBeCount = ({ events, bytes }: Read): boolean => !events && bytes <= LONGEST_BYTES

/** True when a whole document is a count: it is none of the protocol's answers. */
export const isCount = ({ meter, foreign }: Read): boolean => meter.terminal && !meter.failed && foreign
/** True when a whole document is one of the protocol's answers, which its model made. */
export const isModelAnswer = ({ meter, foreign }: Read): boolean => meter.terminal && !meter.failed && !foreign

// --- our own estimate

/** For a model without a price, whose tariff would know better. */
const BYTES_PER_TOKEN = 4

/**
 * Answers a request that counts tokens where no upstream does: in the protocol's own form, with the number that would
 * be the input of such a request's hold.
 */
export function answerEstimate(x: Exchange, services: Services): void {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  const { prompt } = x.facts as Facts
  const tokens = tariff === null ? Math.ceil(prompt.textBytes / BYTES_PER_TOKEN) : tariff.estimatedInput(prompt)
  const body = JSON.stringify(protocolRow(x.protocol as Protocol).countAnswer?.(tokens))
  answerJson(x, services, Buffer.from(body as string))
}
