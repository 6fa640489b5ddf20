/** How each way to pay fares: when it was last heard of, and what came of it. */
import type { PayHealth } from '../../../lib/console/answers.ts'
import { type Child, h2, p, section, span } from '../../base/element.ts'
import { count, money } from '../../base/money.ts'
import { badge } from '../../parts/badge.ts'
import { rows } from '../../parts/listing.ts'
import { methodName } from '../../parts/order-words.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['支付方式', 'Ways to pay'],
  none: [
    '尚未配置支付方式。在配置文件的 pay 部分加入一种。',
    'No way to pay is configured: add one to the section pay of the configuration.',
  ],
  method: ['支付方式', 'Way to pay'],
  callback: ['最近通知', 'Last callback'],
  query: ['最近应答', 'Last answer'],
  failed: ['最近失败', 'last failure'],
  bill: ['最近账单', 'Last bill'],
  refused: ['不可信的通知', 'Callbacks refused'],
  credited: ['入账', 'Credited'],
  back: ['退回', 'Gone back'],
  frozen: ['冻结', 'Frozen'],
  never: ['从未', 'never'],
  off: ['未配置', 'Not configured'],
  sandbox: ['测试环境', 'Test environment'],
  until: ['证书有效期至', 'Certificates valid until'],
  renew: ['请更换证书', 'Renew certificates'],
  hold: [
    (disputes: string, from: string) => `争议 ${disputes}，满 ${from} 暂缓入账`,
    (disputes: string, from: string) => `${disputes} disputed, held from ${from}`,
  ],
})

const WHY = words({
  signature: ['签名错误', 'signature'],
  age: ['时间不符', 'age'],
  key: ['密钥不符', 'key'],
  form: ['格式错误', 'form'],
  probe: ['探测', 'probe'],
})

type Method = PayHealth['methods'][number]

const when = (at: string | null): Child => (at === null ? w.never() : moment(at))

export const methodsPanel = ({ methods }: PayHealth): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'methods' },
    h2({ id: 'methods' }, w.title()),
    methods.length === 0
      ? p({ class: 'soft' }, w.none())
      : rows<Method>({
          caption: w.title(),
          rows: methods,
          keyOf: row => row.method,
          columns: [
            {
              title: w.method(),
              cell: row => [
                methodName(row.method),
                ' ',
                !row.configured && badge('plain', w.off()),
                row.sandbox && badge('warn', w.sandbox()),
                row.certificates?.end_soon && badge('bad', w.renew()),
                row.certificates !== null && span({ class: 'under' }, w.until(), ' ', moment(row.certificates.until)),
                row.hold !== null && span({ class: 'under' }, w.hold(count(row.hold.disputes), count(row.hold.from))),
              ],
            },
            { title: w.callback(), cell: row => when(row.callback_at) },
            {
              title: w.query(),
              cell: row => [
                when(row.query_at),
                row.query_failed_at !== null && span({ class: 'under' }, w.failed(), ' ', moment(row.query_failed_at)),
              ],
            },
            { title: w.bill(), cell: row => row.bill_day ?? w.never() },
            { title: w.refused(), cell: refused },
            { title: w.credited(), narrow: 'beside', number: true, cell: row => money(row.credited) },
            {
              title: w.back(),
              number: true,
              cell: row => [
                money(row.refunded),
                row.reversed !== '0.000000' && span({ class: 'under' }, money(row.reversed)),
              ],
            },
            { title: w.frozen(), number: true, cell: row => money(row.frozen) },
          ],
        }),
  )

const refused = ({ refused }: Method): Child =>
  refused.length === 0
    ? '0'
    : refused.map(({ why, count: times, at }) =>
        span({ key: why, class: 'under' }, `${WHY[why]()} ${count(times)} · `, moment(at)),
      )
