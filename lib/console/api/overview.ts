/** The call behind the page Overview. */
import { type Operation, operation } from '../../api/operation.ts'
import { report } from '../../operations/usage/reports.ts'
import type { ConsoleDeps } from './deps.ts'
import { READS_REQUESTS, READS_TOTALS, readerOf } from './reader.ts'
import { overviewAnswer } from './usage-answers.ts'

export const OVERVIEW: Operation<ConsoleDeps>[] = [
  operation({
    id: 'overview.read',
    call: 'GET /accounts/{account}/overview',
    summary: 'Balance, spending, the last requests and failures of an account, and what to do first.',
    who: READS_TOTALS,
    effect: 'read',
    scope: 'read',
    limit: 'heavy',
    answer: { status: 200, body: overviewAnswer },
    run: async (deps: ConsoleDeps, call) => {
      const { role } = call.caller
      const single = role === null || (READS_REQUESTS as readonly string[]).includes(role)
      return report(deps, 'overview', await readerOf(deps, call), single)
    },
  }),
]
