/** Functions that the rules of several protocols share: they read an event's data and type, an error, an id. */
import { isFields } from './json/text.ts'

/** Whether the value of an `error` member is an error. Some upstreams always send the member, with null in it. */
export const saysError = (value: unknown): boolean => isFields(value) || (typeof value === 'string' && value !== '')

/** An event's data as an object; undefined = it is none, or some of it is missing. */
export function parseEvent(data: Buffer, cut: Buffer | null): Record<string, unknown> | undefined {
  if (cut !== null) return undefined
  try {
    const value: unknown = JSON.parse(data.toString())
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

const TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]{1,64})"/

/**
 * The type of an event: its name, or the `type` in its data where an upstream leaves names out. `type` is mostly the
 * first member, so it is looked for there first.
 */
export function typeOf(name: string, data: Buffer, cut: Buffer | null): string {
  if (name !== '') return name
  const begins = TYPE.exec((cut ?? data).toString('latin1', 0, 100))?.[1]
  return begins ?? shortText(parseEvent(data, cut)?.['type'], '')
}

/** No upstream has longer ids. */
const LONGEST_ID = 1024

/** The id of an answer as it stands in the body; null = it has none. */
export const idOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_ID ? value : null

/**
 * A string of an event that the gateway will repeat in words of its own; the fallback where it is missing or too long.
 */
export const shortText = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value.length <= 256 ? value : fallback
