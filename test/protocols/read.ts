/** Reads an answer with the meter of its protocol, for the tests of what meters read beside the text. */
import type { Meter } from '../../lib/protocols/answers/meter.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import type { Json } from './answers-told.ts'

export function read(protocol: Protocol, events: boolean, chunks: readonly Buffer[], whole = true): Meter {
  const options = { events, lengthStop: false, cacheTtl: '5m', pictures: true, searches: true } as const
  const meter = protocolRow(protocol).meter(options)
  for (const chunk of chunks) meter.feed(chunk, chunk.toString('latin1'))
  meter.end(whole)
  return meter
}

/** All that a meter found, without what is 0 or not said. */
export function found({ usage, tiers, searches, images, pictureKinds }: Meter): Record<string, unknown> {
  const kinds = pictureKinds.map(({ size, quality, count }) => [`${size ?? ''}/${quality ?? ''}`, count])
  const all = { ...(usage ?? noUsage()), searches, images, ...tiers, ...Object.fromEntries(kinds) }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== 0 && value !== null))
}

export const streamOf = (events: readonly (Json | string)[], eol = '\n'): Buffer =>
  Buffer.from(events.map(event => eventOf(event, eol)).join(''))

/** Events of Converse have a name and no type: they stand as the one member of an object. */
const NAMED = /^(?:messageSt(?:art|op)|contentBlock(?:Start|Delta|Stop)|metadata)$/

function eventOf(event: Json | string, eol: string): string {
  if (typeof event === 'string') return `data: ${event}${eol}${eol}`
  const [[name, value] = ['', null], ...others] = Object.entries(event)
  if (others.length > 0 || !NAMED.test(name)) return `data: ${JSON.stringify(event)}${eol}${eol}`
  return `event: ${name}${eol}data: ${JSON.stringify(value)}${eol}${eol}`
}
