/** How the chain is read on which USDT comes, and how its nodes fare. */
import type { PayHealth } from '../../../lib/console/answers.ts'
import { a, type Child, dd, dl, dt, h2, section } from '../../base/element.ts'
import { count } from '../../base/money.ts'
import { badge } from '../../parts/badge.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['USDT 链上读取', 'The chain of USDT'],
  head: ['最新区块', 'Newest block'],
  finality: ['未最终确认的区块', 'Blocks that are not final'],
  cursor: ['已读至区块', 'Read up to block'],
  behind: [(seconds: string) => `落后 ${seconds} 秒`, (seconds: string) => `${seconds} s behind`],
  second: ['第二次读取', 'Read a second time'],
  node: [(n: string) => `节点 ${n}`, (n: string) => `Node ${n}`],
  answered: ['最近应答', 'last answer'],
  failed: ['最近失败', 'last failure'],
  away: ['无应答', 'no answer'],
  refused: ['拒绝', 'refused'],
  addresses: ['充值地址', 'Addresses'],
  balances: ['余额核对', 'Balances compared'],
  running: ['进行中', 'not done yet'],
  sweep: ['归集地址清单（CSV）', 'Addresses for sweeping (CSV)'],
  never: ['从未', 'never'],
  sandbox: ['测试环境', 'Test environment'],
})

type Chain = NonNullable<PayHealth['chain']>

const when = (at: string | null): Child => (at === null ? w.never() : moment(at))

const pair = (title: string, ...value: Child[]): Child => [dt({}, title), dd({}, ...value)]
const number = (value: number | null): string => (value === null ? '–' : count(value))

/** Nothing is drawn where USDT is not offered. */
export const chainPanel = ({ chain }: PayHealth): Child =>
  chain !== null &&
  section(
    { class: 'panel', 'aria-labelledby': 'chain' },
    h2({ id: 'chain' }, w.title(), ' ', chain.sandbox && badge('warn', w.sandbox())),
    a({ class: 'button', href: '/console/api/payments/usdt/addresses/csv', download: 'usdt-addresses.csv' }, w.sweep()),
    dl(
      { class: 'pairs' },
      pair(w.head(), number(chain.head), ' · ', when(chain.head_at)),
      pair(w.finality(), number(chain.finality_lag_blocks)),
      pair(
        w.cursor(),
        chain.cursor === null ? '–' : [count(chain.cursor.block), ' · ', w.behind(count(chain.cursor.lag_seconds))],
      ),
      pair(w.second(), number(chain.second_block), ' · ', when(chain.second_at)),
      chain.nodes.map(node),
      pair(w.addresses(), count(chain.addresses)),
      pair(
        w.balances(),
        chain.balances_day ?? w.never(),
        chain.balances_day !== null && !chain.balances_done && ` · ${w.running()}`,
      ),
    ),
  )

const node = ({ node, answered_at, failed_at, failed }: Chain['nodes'][number]): Child =>
  pair(
    w.node(String(node)),
    w.answered(),
    ' ',
    when(answered_at),
    failed_at !== null && [' · ', w.failed(), ' ', moment(failed_at), failed !== null && ` (${w[failed]()})`],
  )
