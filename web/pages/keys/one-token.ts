/**
 * Tries a new key with a real request that asks for one token, while its secret is at hand: it goes to the upstream and is
 * charged, so the reader is told what it costs and sends it on purpose.
 */
import { signal } from '@preact/signals'
import { hrefOf } from '../../base/address.ts'
import { a, button, type Child, details, div, option, p, select, span, summary } from '../../base/element.ts'
import { icon } from '../../base/icons.ts'
import { unitPrice } from '../../base/money.ts'
import { belongs, field } from '../../parts/field.ts'
import { told } from '../../parts/state.ts'
import type { OwnModels } from '../../base/shapes.ts'
import { language, words } from '../../base/words.ts'

const w = words({
  title: ['用一个 token 试用（会收费）', 'Try it with one token, which is charged'],
  model: ['用于试用的模型', 'Model to try'],
  costs: [
    (input: string, output: string) =>
      `向上游发送一个真实请求：约 10 个输入 token，至多 1 个输出 token，价格为每百万 ${input} 和 ${output}。`,
    (input: string, output: string) =>
      `A real request to the upstream: about 10 tokens of input and at most 1 of output, at ${input} and ${output} per million.`,
  ],
  send: ['发送', 'Send it'],
  sending: ['正在发送…', 'Sending…'],
  answered: ['密钥可用：模型已回答。', 'The key works: the model has answered.'],
  unreachable: ['没有收到回答，请稍后再试', 'No answer came: try again later'],
  receipt: ['查看请求明细', 'Its receipt'],
})

type Model = OwnModels['models'][number]

const about = () => ({ name: 'trial-model', label: w.model() })

const TEXT = 'Hi'
const messages = [{ role: 'user', content: TEXT }]
const TIMEOUT_MS = 60_000

/** The shortest request of each protocol, in the order in which they are preferred. */
const SHORTEST: readonly { protocol: Model['protocols'][number]; path: (model: string) => string; body: object }[] = [
  { protocol: 'chat', path: () => '/v1/chat/completions', body: { max_tokens: 1, messages } },
  { protocol: 'messages', path: () => '/v1/messages', body: { max_tokens: 1, messages } },
  {
    protocol: 'generate',
    path: model => `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: TEXT }] }], generationConfig: { maxOutputTokens: 1 } },
  },
]

const shortestOf = ({ protocols }: Model) => SHORTEST.find(({ protocol }) => protocols.includes(protocol))

/** The prices of tokens, in CNY per million; null = the model is not priced by tokens. */
function tokenPrices({ price }: Model): { input: string; output: string } | null {
  const prices = price?.lists.find(({ over }) => over === null)?.prices
  const [input, output] = [prices?.['input'], prices?.['output']]
  return input === undefined || output === undefined ? null : { input, output }
}

const canBeTried = (model: Model): boolean => shortestOf(model) !== undefined && tokenPrices(model) !== null

interface Verdict {
  works: boolean
  text: string
  requestId: string | null
}

/** `models`: those that the key may use. */
export function oneTokenTrial(secret: string): (models: readonly Model[]) => Child {
  const chosen = signal('')
  const verdict = signal<Verdict | null>(null)
  const busy = signal(false)
  const send = async (model: Model) => {
    busy.value = true
    verdict.value = null
    verdict.value = await tried(secret, model)
    busy.value = false
  }
  return models => {
    const fit = models.filter(canBeTried)
    const model = fit.find(({ name }) => name === chosen.value) ?? fit[0]
    const prices = model === undefined ? null : tokenPrices(model)
    if (model === undefined || prices === null) return null
    return details(
      { class: 'unfolding' },
      summary({}, icon('down'), span({}, w.title())),
      div(
        { class: 'stack' },
        field(
          about(),
          select(
            {
              ...belongs(about()),
              value: model.name,
              onChange: event => (chosen.value = event.currentTarget.value),
            },
            fit.map(({ name }) => option({ key: name, value: name, selected: name === model.name }, name)),
          ),
        ),
        p({ class: 'hint' }, w.costs(unitPrice(prices.input), unitPrice(prices.output))),
        div({}, button({ type: 'button', disabled: busy.value, onClick: () => send(model) }, w.send())),
        div({ role: 'status' }, busy.value ? w.sending() : verdict.value && shown(verdict.value)),
      ),
    )
  }
}

/** The receipt opens beside this page, which has the only copy of the secret. */
const shown = ({ works, text, requestId }: Verdict): Child =>
  told(
    works ? 'good' : 'bad',
    p({}, text),
    works &&
      requestId !== null &&
      p({}, a({ href: hrefOf(`/requests/${requestId}`), target: '_blank', rel: 'noopener' }, w.receipt())),
  )

async function tried(secret: string, model: Model): Promise<Verdict> {
  const request = shortestOf(model)
  if (request === undefined) throw new Error(`${model.name} cannot be tried`)
  try {
    const response = await fetch(request.path(model.name), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'accept-language': language.value === 'zh' ? 'zh-CN' : 'en',
      },
      body: JSON.stringify(request.protocol === 'generate' ? request.body : { model: model.name, ...request.body }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const requestId = response.headers.get('x-request-id')
    if (response.ok) return { works: true, text: w.answered(), requestId }
    const answer = await response.json().catch(() => null)
    return { works: false, text: `${response.status} ${answer?.error?.message ?? response.statusText}`, requestId }
  } catch {
    return { works: false, text: w.unreachable(), requestId: null }
  }
}
