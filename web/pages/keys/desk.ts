/** What the dialogs of the page Keys share with the page. */
import type { ClientsData } from '../../../lib/console/answers.ts'
import type { View } from '../../base/page.ts'
import type { AccountGroup } from '../../base/shapes.ts'

export interface Desk {
  /** The addresses of the gateway and the table of clients. */
  site: ClientsData
  /** Whether the reader may change keys. */
  managing: boolean
  groups(): readonly AccountGroup[]
  /** Shows a dialog in the place of the one that is open. */
  open(view: View): void
  close(): void
  /** The list is asked for again. */
  changed(): void
}
