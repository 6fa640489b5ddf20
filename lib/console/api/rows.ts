/** All calls of the console's API. Each resource has a file of its own with its rows. */
import type { Operation } from '../../api/operation.ts'
import { ACTIONS } from './actions.ts'
import { BILLING } from './billing.ts'
import { CATALOGUE } from './catalogue.ts'
import { DEPOSIT_DESK } from './deposit-desk.ts'
import { DEPOSITS } from './deposits.ts'
import type { ConsoleDeps } from './deps.ts'
import { documentRows } from './document.ts'
import { JOINING } from './joining.ts'
import { KEYS } from './keys.ts'
import { ME } from './me.ts'
import { MEMBERS } from './members.ts'
import { OIDC } from './oidc.ts'
import { ORDERS } from './orders.ts'
import { OVERVIEW } from './overview.ts'
import { PAY_DESK } from './pay-desk.ts'
import { REQUESTS } from './requests.ts'
import { SIGN_IN } from './sign-in.ts'
import { TOKENS } from './tokens.ts'
import { USAGE } from './usage.ts'
import { USERS } from './users.ts'

export const OPERATIONS: readonly Operation<ConsoleDeps>[] = [
  ...SIGN_IN,
  ...JOINING,
  ...OIDC,
  ...ME,
  ...KEYS,
  ...CATALOGUE,
  ...TOKENS,
  ...MEMBERS,
  ...USERS,
  ...OVERVIEW,
  ...USAGE,
  ...REQUESTS,
  ...BILLING,
  ...ORDERS,
  ...PAY_DESK,
  ...DEPOSITS,
  ...DEPOSIT_DESK,
  ...ACTIONS,
  ...documentRows(() => OPERATIONS),
]
