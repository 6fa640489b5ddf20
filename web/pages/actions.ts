/** What was changed in the account, for its owners. */
import type { View } from '../page.ts'
import { actionLog } from '../parts/action-log.ts'
import { accountPath } from '../session.ts'

export default function actions(): View {
  return actionLog(() => `${accountPath()}/actions`, false)
}
