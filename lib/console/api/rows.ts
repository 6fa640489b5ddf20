/** All calls of the console's API. Each resource has a file of its own with its rows. */
import { ACTIONS } from './actions.ts'
import { BILLING } from './billing.ts'
import { CATALOGUE } from './catalogue.ts'
import type { ConsoleDeps } from './shared.ts'
import { JOINING, OIDC, SIGN_IN } from './sign-in.ts'
import { KEYS } from './keys.ts'
import { ME, TOKENS } from './me.ts'
import { MEMBERS, USERS } from './people.ts'
import { ORDERS } from './orders.ts'
import { OVERVIEW } from './overview.ts'
import { PASSKEYS } from './passkeys.ts'
import { paymentCalls } from './pay-desk.ts'
import { REQUESTS } from './requests.ts'
import { USDT_CALLS } from './usdt.ts'
import { USAGE } from './usage.ts'
import { z } from 'zod'
import { type Described, openApi } from '../../api/openapi.ts'
import { type Operation, operation } from '../../api/operation.ts'
import { sessionCookie } from '../../api/site.ts'

export const OPERATIONS: readonly Operation<ConsoleDeps>[] = [
  ...SIGN_IN,
  ...JOINING,
  ...OIDC,
  ...ME,
  ...PASSKEYS,
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
  ...paymentCalls(({ store }, account) => store.accounts.byPublicId(account)),
  ...USDT_CALLS,
  ...ACTIONS,
  ...documentRows(() => OPERATIONS),
]

const TITLE = 'Console'
const DESCRIPTION =
  'The calls behind the pages of the console. A program sends a personal token as `authorization: Bearer gwp_…`. ' +
  'Money is text with six decimals, in CNY; times are ISO 8601 in UTC; lists are `{data, next}`, and `after` is the ' +
  '`next` of the page before.'

/** `rows`: all calls, this one too. Calls of operators are shown to operators only. */
function documentRows(rows: () => readonly Described[]): Operation<ConsoleDeps>[] {
  const made = new Map<string, object>()
  const make = (operators: boolean, cookie: string): object => {
    const key = `${operators} ${cookie}`
    const shown = rows().filter(row => operators || row.who !== 'operator')
    const document =
      made.get(key) ?? openApi(shown, { title: TITLE, description: DESCRIPTION, root: '/console', cookie })
    made.set(key, document)
    return document
  }
  return [
    operation({
      id: 'document.read',
      call: 'GET /openapi.json',
      at: 'root',
      summary: 'This document. Operators see their own calls in it too.',
      who: 'anyone',
      effect: 'read',
      scope: 'read',
      cacheS: 0,
      answer: { status: 200, body: z.looseObject({ openapi: z.string() }) },
      run: async ({ config }: ConsoleDeps, { caller }) =>
        make(caller.user?.operator === true, sessionCookie(config().public)),
    }),
  ]
}
