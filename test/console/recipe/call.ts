/** The call behind the page Letters. */
import { type Operation, operation } from '../../../lib/api/operation.ts'
import type { ConsoleDeps } from '../../../lib/console/api/shared.ts'
import { MAY } from '../../../web/shared/roles.ts'
import { countLetters, lettersAnswer, lettersQuery } from './operation.ts'

export const LETTERS: Operation<ConsoleDeps>[] = [
  operation({
    id: 'letters.read',
    call: 'GET /accounts/{account}/letters',
    summary: 'How many letters the name of the account has.',
    who: MAY.readMembers,
    effect: 'read',
    scope: 'read',
    query: lettersQuery,
    answer: { status: 200, body: lettersAnswer },
    run: (_: ConsoleDeps, { account, query }) => countLetters(account, query.times),
  }),
]
