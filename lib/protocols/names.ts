/**
 * The names of protocols. They follow from `rows.ts`, so that a protocol is written down in one place. What is known of each stands in
 * `table.ts`: rooms that only name protocols need nothing of it.
 */
import { type ProtocolRow, TEXT_COVER } from './protocol.ts'
import * as ROWS from './rows.ts'

export type Protocol = keyof typeof ROWS

const TABLE: Readonly<Record<Protocol, ProtocolRow>> = { ...ROWS }

/** All rows, in the order in which people read them. */
export const FORMS: readonly Protocol[] = (Object.keys(TABLE) as Protocol[]).sort(
  (a, b) => TABLE[a].place - TABLE[b].place || (a < b ? -1 : 1),
)

/** The protocols that people name in the catalogue. A form of a protocol is not one of them. */
export const PROTOCOLS: readonly Protocol[] = FORMS.filter(name => TABLE[name].formOf === undefined)

/** The protocols among these that clients speak; the others are spoken by upstreams alone. */
export const CLIENT_PROTOCOLS: readonly Protocol[] = PROTOCOLS.filter(name => TABLE[name].client.paths.length > 0)

/** The protocols of clients whose answers are text. An upstream of another protocol of text can serve their clients. */
export const TEXT_PROTOCOLS: readonly Protocol[] = CLIENT_PROTOCOLS.filter(
  name => TABLE[name].price.cover === TEXT_COVER,
)
