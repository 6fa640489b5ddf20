/** What was changed anywhere in the gateway, for operators. */
import type { View } from '../base/page.ts'
import { actionLog } from '../parts/action-log.ts'

export default function allActions(): View {
  return actionLog(() => '/actions', true)
}
