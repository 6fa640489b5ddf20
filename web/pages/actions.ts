/** What was changed in the account, for its owners. */
import type { View } from '../base/page.ts'
import { actionLog } from '../parts/action-log.ts'
import { accountPath } from '../base/session.ts'

export default function actions(): View {
  return actionLog(() => `${accountPath()}/actions`, false)
}
