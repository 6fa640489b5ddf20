/** The dialects by the name of their protocol. A protocol without one is a path that the simulator does not know. */
import type { Protocol } from '../../../lib/terms/records.ts'
import type { Dialect } from '../speech.ts'
import * as ROWS from './rows.ts'

const ALL: Partial<Readonly<Record<Protocol, Dialect>>> = ROWS

export const DIALECTS = Object.entries(ALL) as readonly [Protocol, Dialect][]
