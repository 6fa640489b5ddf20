/** What the metrics say of channels and their keys, which is read only when somebody scrapes. */
import type { BreakerState, ChannelState } from './channel.ts'
import type { Sample } from './tallies.ts'

const STATE_VALUES: Record<BreakerState, number> = { closed: 0, half_open: 1, open: 2 }

export type ChannelStates = Iterable<readonly [string, ChannelState]>

export function stateSamples(channels: readonly string[], all: ChannelStates): Sample[] {
  const states = new Map(all)
  return channels.map(channel => ({
    labels: { channel },
    value: STATE_VALUES[states.get(channel)?.state ?? 'closed'],
  }))
}

/** The breakers of keys, for channels that have several. The label is the key's position, from 1, and not the key. */
export const keyStateSamples = (all: ChannelStates): Sample[] =>
  [...all].flatMap(([channel, { keys }]) =>
    keys.length < 2
      ? []
      : keys.map((state, i) => ({ labels: { channel, key: String(i + 1) }, value: STATE_VALUES[state] })),
  )

export const attemptsOpenSamples = (all: ChannelStates): Sample[] =>
  [...all].map(([channel, { open }]) => ({ labels: { channel }, value: open }))
