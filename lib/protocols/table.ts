/** What is known of each protocol, by its name. */
import type { Protocol } from './names.ts'
import type { ProtocolRow } from './protocol.ts'
import * as ROWS from './rows.ts'

const TABLE: Readonly<Record<Protocol, ProtocolRow>> = { ...ROWS }

export const protocolRow = (name: Protocol): ProtocolRow => TABLE[name]

/** The protocol of which a row is a form: mostly the row itself. */
export const protocolOf = (form: Protocol): Protocol => (TABLE[form].formOf ?? form) as Protocol
