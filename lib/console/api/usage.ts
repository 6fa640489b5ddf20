/** The call behind the page Usage. */
import { type Operation, operation } from '../../api/operation.ts'
import { ownUsage, totalsQuery } from '../../operations/own-usage.ts'
import type { ConsoleDeps } from './deps.ts'
import { READS_TOTALS, readerOf } from './reader.ts'
import { usageAnswer } from './usage-answers.ts'

export const USAGE: Operation<ConsoleDeps>[] = [
  operation({
    id: 'usage.read',
    call: 'GET /accounts/{account}/usage',
    summary:
      'What an account used in a period: totals, a chart by day or hour in stacks, and a table with the same numbers.',
    who: READS_TOTALS,
    effect: 'read',
    scope: 'read',
    limit: 'heavy',
    query: totalsQuery,
    answer: { status: 200, body: usageAnswer },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) => ownUsage(deps, await readerOf(deps, call), call.query),
  }),
]
