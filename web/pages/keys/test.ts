/** Tries a key out without its secret: would a request from here be answered, and if not, where does it stop? */
import { effect, signal } from '@preact/signals'
import { get, send } from '../../base/ask.ts'
import { button, type Child, p } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import type { View } from '../../base/page.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { selectField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told, whenLoaded } from '../../parts/state.ts'
import { accountPath } from '../../base/session.ts'
import type { Key, KeyTest, OwnModels } from '../../base/shapes.ts'
import { inLanguage, words } from '../../base/words.ts'
import { canBeAsked } from '../../shared/fill.ts'
import type { Desk } from './desk.ts'

const w = words({
  title: [(name: string) => `测试 ${name}`, (name: string) => `Test ${name}`],
  lead: [
    '网关按此密钥走一遍检查，不会询问上游，也不收费。',
    'The gateway goes through its checks for this key. Nothing is sent upstream or charged.',
  ],
  model: ['模型', 'Model'],
  protocol: ['协议', 'Protocol'],
  noModels: ['此分组还没有模型。', 'The group has no models yet.'],
  close: ['关闭', 'Close'],
  test: ['测试', 'Test'],
  works: [
    (address: string) => `来自 ${address} 的请求会得到回答。`,
    (address: string) => `A request from ${address} would be answered.`,
  ],
  refused: [
    (stage: string, status: number) => `请求会在“${stage}”这一步被拒绝（${status}）。`,
    (stage: string, status: number) => `A request would be refused at “${stage}” (${status}).`,
  ],
  reads: [(message: string) => `客户端会读到：${message}`, (message: string) => `A client would read: ${message}`],
  from: [(address: string) => `测试所用的地址：${address}`, (address: string) => `Tried from the address ${address}`],
})

const stages = words({
  authenticate: ['密钥', 'the key'],
  admit: ['准入', 'who may use it'],
  throttle: ['限速', 'the rate'],
  body: ['请求内容', 'the body'],
  model: ['模型', 'the model'],
  candidates: ['渠道', 'the channels'],
  price: ['价格', 'the price'],
  reserve: ['余额与额度', 'balance and cap'],
})

const advice = words({
  authenticate: ['启用密钥，或在“编辑”中延长有效期。', 'Enable the key, or give it a later expiry under “Edit”.'],
  admit: [
    '在“编辑”中检查允许的地址，以及密钥的分组是否仍对账户开放。',
    'Under “Edit”, look at the allowed addresses, and whether the account still has the group of the key.',
  ],
  throttle: ['稍等片刻再试。', 'Wait a moment, then try again.'],
  body: ['换一种协议再试。', 'Try another protocol.'],
  model: [
    '在“编辑”中检查模型名单，或选择分组中的其他模型。',
    'Look at the list of models under “Edit”, or choose another model of the group.',
  ],
  candidates: [
    '模型暂时不可用：稍后再试，或换一个模型。',
    'The model is not available now: try later, or another one.',
  ],
  price: ['模型还没有价格，请联系运营方。', 'The model has no price yet: tell the operators.'],
  reserve: ['为账户充值，或提高密钥的额度。', 'Top up the account, or raise the cap of the key.'],
})

type Stage = keyof typeof stages

export function testDialog(desk: Desk, key: Key): View {
  const models = load(async () => {
    const offered = await get<OwnModels>(`${accountPath()}/models`, { group: key.group })
    return { ...offered, models: offered.models.filter(canBeAsked) }
  })
  const model = signal(key.restricted ? (key.models[0] ?? '') : '')
  const protocol = signal('')
  const found = signal<KeyTest | null>(null)
  effect(() => {
    const all = models.value.value?.models
    if (all === undefined) return
    const row = all.find(({ name }) => name === model.value) ?? all[0]
    model.value = row?.name ?? ''
    if (!row?.protocols.some(one => one === protocol.value)) protocol.value = row?.protocols[0] ?? ''
  })
  const form = formOf(async () => {
    found.value = null
    const tried = { model: model.value, protocol: protocol.value }
    found.value = await send<KeyTest>('POST', `${accountPath()}/keys/${key.id}/test`, tried)
  })
  const fields = (all: OwnModels): Child => {
    if (all.models.length === 0) return told('warn', w.noModels())
    const spoken = all.models.find(({ name }) => name === model.value)?.protocols ?? []
    return form.view(
      'tall',
      selectField(
        { name: 'model', label: w.model(), error: form.error('model') },
        model,
        all.models.map(({ name }) => ({ value: name, text: name })),
      ),
      selectField(
        { name: 'protocol', label: w.protocol(), error: form.error('protocol') },
        protocol,
        spoken.map(name => ({ value: name, text: name })),
      ),
      buttons(button({ type: 'button', onClick: desk.close }, w.close()), form.submit('main', w.test())),
    )
  }
  return () =>
    dialogBox(
      w.title(key.name),
      desk.close,
      p({}, w.lead()),
      whenLoaded(models, fields),
      p({ class: 'unseen', role: 'status' }, found.value && saidOf(found.value)),
      found.value && verdict(found.value),
    )
}

const stageOf = ({ stage }: KeyTest): Stage => (stage ?? 'authenticate') as Stage

const saidOf = (test: KeyTest): string =>
  test.ok ? w.works(test.address) : w.refused(stages[stageOf(test)](), test.status ?? 0)

const verdict = (test: KeyTest): Child =>
  test.ok
    ? told('good', p({}, saidOf(test)))
    : told(
        'bad',
        p({}, saidOf(test)),
        p({ class: 'strong' }, test.why && inLanguage(test.why)),
        p({}, advice[stageOf(test)]()),
        p({ class: 'hint' }, w.reads(test.message ?? '')),
        p({ class: 'hint' }, w.from(test.address)),
      )
