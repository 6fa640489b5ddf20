/**
 * The table of clients: what a reader copies into a coding tool, an application or an SDK to make it use the gateway, and
 * what else is to be known of it. `web/shared/fill.ts` puts address, key and model in the place of `{base}`, `{key}` and
 * `{model}`. The page Connect, the dialogs of keys and the docs use these rows.
 */
import { CURL } from './clients/curl.ts'
import type { ClientRow } from './clients/row.ts'
import { SDKS } from './clients/sdks.ts'
import { TOOLS } from './clients/tools.ts'

export type { ClientRow } from './clients/row.ts'

export const CLIENTS: readonly ClientRow[] = [...TOOLS, ...SDKS, ...CURL]
