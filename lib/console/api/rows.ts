/** All calls of the console's API. Each resource has a file of its own with its rows. */
import type { Operation } from '../../api/operation.ts'
import { BILLING } from './billing.ts'
import { CATALOGUE } from './catalogue.ts'
import type { ConsoleDeps } from './deps.ts'
import { documentRows } from './document.ts'
import { KEYS } from './keys.ts'
import { ME } from './me.ts'
import { OVERVIEW } from './overview.ts'
import { REQUESTS } from './requests.ts'
import { SIGN_IN } from './sign-in.ts'
import { USAGE } from './usage.ts'

export const OPERATIONS: readonly Operation<ConsoleDeps>[] = [
  ...SIGN_IN,
  ...ME,
  ...KEYS,
  ...CATALOGUE,
  ...OVERVIEW,
  ...USAGE,
  ...REQUESTS,
  ...BILLING,
  ...documentRows(() => OPERATIONS),
]
