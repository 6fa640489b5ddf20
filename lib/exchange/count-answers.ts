/**
 * What an upstream says to a count route is passed on when it is a count. One that knows no such route may take it for the
 * route before it and answer as its model would: that was paid for by nobody, so it is closed, the client is given an estimate
 * of ours, and its channel is not asked to count on this protocol again until the catalogue changes.
 */
import type { CompiledChannel } from '../channels/table.ts'
import type { Protocol } from '../terms/records.ts'

/** A count is no longer. */
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

/** It may still turn out to be a count. */
export const mayBeCount = ({ events, bytes }: Read): boolean => !events && bytes <= LONGEST_BYTES

/** Of a whole document: it is none of the protocol's answers. */
export const isCount = ({ meter, foreign }: Read): boolean => meter.terminal && !meter.failed && foreign
/** It is one of them. */
export const isAnswer = ({ meter, foreign }: Read): boolean => meter.terminal && !meter.failed && !foreign
