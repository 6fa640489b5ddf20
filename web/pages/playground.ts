/**
 * The playground: a conversation with a model on one of the reader's keys. The gateway makes the requests by the key's id, under its limits
 * and at its prices, so its secret is not needed. The conversation is in the memory of this page alone.
 */
import { effect, type Signal, signal } from '@preact/signals'
import type { ClientsData } from '../../lib/console/answers.ts'
import { hrefOf } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { a, article, button, type Child, details, div, form, h2, p, section, span, summary } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { load } from '../base/load.ts'
import { exactMoney } from '../base/money.ts'
import { actions, type View } from '../base/page.ts'
import { accountPath } from '../base/session.ts'
import type { Key, OwnModels } from '../base/shapes.ts'
import { words } from '../base/words.ts'
import { selectField, textArea, textField } from '../parts/field.ts'
import type { ListPage } from '../parts/listing.ts'
import { empty, failed as failedView, told } from '../parts/state.ts'
import { canBeAsked } from '../shared/fill.ts'
import { codeTabs } from './playground/code.ts'
import { askModel, costOf } from './playground/exchange.ts'
import { pictureField, shownPictures } from './playground/pictures.ts'
import { type Asked, SPOKEN, type Turn } from './playground/spoken.ts'

const w = words({
  lead: [
    '在这里与模型对话。请求使用所选密钥，受其限额约束，按普通请求计费；对话内容只在本页内存中，不会被保存。',
    'Talk to a model. Requests are made with the chosen key, within its limits, and are charged as any other. The conversation is in the memory of this page alone and is not stored.',
  ],
  key: ['密钥', 'Key'],
  model: ['模型', 'Model'],
  protocol: ['协议', 'Protocol'],
  parameters: ['参数', 'Parameters'],
  system: ['系统提示', 'System prompt'],
  mostOutput: ['最大输出 token', 'Maximum output tokens'],
  temperature: ['温度', 'Temperature'],
  size: ['图片尺寸，例如 1024x1024', 'Size of the picture, such as 1024x1024'],
  talk: ['对话', 'Conversation'],
  you: ['您', 'You'],
  thought: ['思考过程', 'Its thoughts'],
  writing: ['正在回答…', 'Answering…'],
  message: ['消息', 'Message'],
  prompt: ['图片描述', 'What the picture shows'],
  send: ['发送', 'Send'],
  stop: ['停止', 'Stop'],
  stopHint: [
    '停止后，模型已经生成的内容仍会计费。',
    'What the model has written when you stop it is charged all the same.',
  ],
  begin: ['新对话', 'New conversation'],
  cost: [(amount: string) => `费用 ${amount}`, (amount: string) => `Cost ${amount}`],
  counting: ['正在结算…', 'Being charged…'],
  receipt: ['收据', 'Receipt'],
  code: ['以代码表示此请求', 'The request as code'],
  noKey: ['没有可用的密钥：先创建一个。', 'There is no key that can be used: make one first.'],
  keys: ['前往密钥', 'To the keys'],
  noModel: ['此密钥没有可以对话或作图的模型。', 'The key has no model for conversations or pictures.'],
})

interface ShownTurn extends Turn {
  id: number
  thought: string
  failed: string | null
  requestId: string | null
  /** undefined = not known yet, null = it cost nothing or is not to be had. */
  cost: string | null | undefined
  isUnderWay: boolean
}

type Model = OwnModels['models'][number]

const NEW = { thought: '', failed: null, requestId: null, cost: null, isUnderWay: false }

const playable = ({ protocols }: Model): string[] =>
  Object.keys(SPOKEN).filter(name => protocols.some(one => one === name))

/** The protocols of a model in which it can be asked here; those that it speaks itself come first. */
function protocolsOf(model: Model): string[] {
  const isTranslated = (name: string) => model.translated.some(one => one === name)
  return playable(model).sort((one, other) => Number(isTranslated(one)) - Number(isTranslated(other)))
}

/** What the reader has chosen: of each list the first, until another one is. */
function choices() {
  const keys = load(() => get<ListPage<Key>>(`${accountPath()}/keys`, { state: 'enabled' }))
  const [keyId, modelName, protocolName] = [signal(''), signal(''), signal('')]
  const key = () => keys.value.value?.data.find(({ id }) => id === keyId.value) ?? keys.value.value?.data[0]
  const models = load(async () => {
    const used = key()
    if (used === undefined) return []
    const { models } = await get<OwnModels>(`${accountPath()}/models`, { group: used.group })
    return models
      .filter(canBeAsked)
      .filter(model => playable(model).length > 0 && (!used.restricted || used.models.includes(model.name)))
  })
  const model = () => models.value.value?.find(({ name }) => name === modelName.value) ?? models.value.value?.[0]
  const protocol = () => {
    const offered = model()
    const all = offered === undefined ? [] : protocolsOf(offered)
    return all.find(name => name === protocolName.value) ?? all[0]
  }
  effect(() => {
    keyId.value = key()?.id ?? ''
    modelName.value = model()?.name ?? ''
    protocolName.value = protocol() ?? ''
  })
  return { keys, models, keyId, modelName, protocolName, key, model, protocol }
}

type Choices = ReturnType<typeof choices>

const parameters = () => ({
  system: signal(''),
  mostOutput: signal(''),
  temperature: signal(''),
  size: signal(''),
})

type Parameters = ReturnType<typeof parameters>

const numberIn = ({ value }: Signal<string>): number | null => (value.trim() === '' ? null : Number(value))

/** The conversation, and what adds to it. */
class Talk {
  readonly turns = signal<readonly ShownTurn[]>([])
  readonly text = signal('')
  readonly pictures = signal<readonly string[]>([])
  readonly #chosen: Choices
  readonly #given: Parameters
  readonly #stopping = signal<AbortController | null>(null)
  #count = 0

  constructor(chosen: Choices, given: Parameters) {
    this.#chosen = chosen
    this.#given = given
  }

  get isUnderWay(): boolean {
    return this.#stopping.value !== null
  }

  /** The next request, with what stands in the field. A question that got no answer is not repeated. */
  asked(): Asked {
    const { system, mostOutput, temperature, size } = this.#given
    const answered = this.turns.value.filter(({ role, failed }, at, all) =>
      role === 'assistant' ? failed === null : all[at + 1]?.failed === null,
    )
    const told = answered.map(({ role, text, pictures }) => ({ role, text, pictures: role === 'user' ? pictures : [] }))
    const isPicture = this.#chosen.protocol() === 'images'
    return {
      model: this.#chosen.model()?.name ?? '',
      turns: [...(isPicture ? [] : told), { role: 'user', text: this.text.value, pictures: this.pictures.value }],
      system: system.value,
      mostOutput: numberIn(mostOutput),
      temperature: numberIn(temperature),
      size: size.value.trim(),
    }
  }

  async send(): Promise<void> {
    const [key, protocol] = [this.#chosen.key(), this.#chosen.protocol()]
    if (this.isUnderWay || this.text.value.trim() === '' || key === undefined || protocol === undefined) return
    const asked = this.asked()
    const stopping = new AbortController()
    this.#stopping.value = stopping
    const id = ++this.#count
    const question = { ...NEW, id: -id, role: 'user' as const, text: this.text.value, pictures: this.pictures.value }
    const answer = { ...NEW, id, role: 'assistant' as const, text: '', pictures: [], cost: undefined, isUnderWay: true }
    this.turns.value = [...this.turns.value, question, answer]
    this.text.value = ''
    this.pictures.value = []
    const { requestId, failed } = await askModel({ key: key.id, protocol, asked, signal: stopping.signal }, piece =>
      this.#change(id, turn => ({
        text: turn.text + (piece.text ?? ''),
        thought: turn.thought + (piece.thought ?? ''),
        pictures: piece.picture === undefined ? turn.pictures : [...turn.pictures, piece.picture],
      })),
    )
    this.#stopping.value = null
    this.#change(id, () => ({ requestId, failed, isUnderWay: false }))
    const cost = requestId === null ? null : await costOf(requestId)
    this.#change(id, () => ({ cost }))
  }

  stop(): void {
    this.#stopping.value?.abort()
  }

  clear(): void {
    this.stop()
    this.turns.value = []
  }

  #change(id: number, change: (turn: ShownTurn) => Partial<ShownTurn>): void {
    this.turns.value = this.turns.value.map(turn => (turn.id === id ? { ...turn, ...change(turn) } : turn))
  }
}

export default function playground(site: ClientsData): View {
  const chosen = choices()
  const given = parameters()
  const talk = new Talk(chosen, given)
  const client = signal('')
  actions.value = () =>
    talk.turns.value.length > 0 && button({ type: 'button', onClick: () => talk.clear() }, w.begin())
  const loading = () => {
    const failure = chosen.keys.failure.value ?? chosen.models.failure.value
    if (failure !== null) return failedView(failure, () => location.reload())
    if (chosen.keys.value.value !== null && chosen.key() === undefined)
      return empty('key', w.noKey(), a({ class: 'button main', href: hrefOf('/keys') }, w.keys()))
    return null
  }
  return () => [
    p({ class: 'lead' }, w.lead()),
    loading() ?? [
      choicePanel(chosen, given),
      talkPanel(talk, chosen),
      chosen.protocol() !== undefined &&
        details(
          { class: 'panel unfolding', key: 'code' },
          summary({}, icon('down'), span({}, w.code())),
          codeTabs(site.clients, site.main, chosen.protocol() as string, talk.asked(), client),
        ),
    ],
  ]
}

function choicePanel(chosen: Choices, given: Parameters): Child {
  const keys = chosen.keys.value.value?.data ?? []
  const models = chosen.models.value.value ?? []
  const model = chosen.model()
  const protocols = model === undefined ? [] : protocolsOf(model)
  return section(
    { class: 'panel', 'aria-label': w.parameters() },
    div(
      { class: 'filters' },
      selectField(
        { name: 'key', label: w.key() },
        chosen.keyId,
        keys.map(({ id, name }) => ({ value: id, text: name })),
      ),
      selectField(
        { name: 'model', label: w.model() },
        chosen.modelName,
        models.map(({ name }) => ({ value: name, text: name })),
      ),
      selectField(
        { name: 'protocol', label: w.protocol() },
        chosen.protocolName,
        protocols.map(name => ({ value: name, text: name })),
      ),
    ),
    chosen.models.value.value?.length === 0 && told('warn', p({}, w.noModel())),
    details(
      { class: 'unfolding' },
      summary({}, icon('down'), span({}, w.parameters())),
      chosen.protocol() === 'images'
        ? textField({ name: 'size', label: w.size(), optional: true }, given.size)
        : div(
            { class: 'stack' },
            textArea({ name: 'system', label: w.system(), optional: true }, given.system),
            div(
              { class: 'filters' },
              textField({ name: 'most-output', label: w.mostOutput(), optional: true }, given.mostOutput, {
                type: 'number',
                min: 1,
                step: 1,
              }),
              textField({ name: 'temperature', label: w.temperature(), optional: true }, given.temperature, {
                type: 'number',
                min: 0,
                max: 2,
                step: 0.1,
              }),
            ),
          ),
    ),
  )
}

function talkPanel(talk: Talk, chosen: Choices): Child {
  const isPicture = chosen.protocol() === 'images'
  return section(
    { class: 'panel', 'aria-labelledby': 'talk' },
    h2({ id: 'talk' }, w.talk()),
    talk.turns.value.length > 0 &&
      div(
        { class: 'talk', role: 'log', 'aria-busy': talk.isUnderWay ? 'true' : undefined },
        talk.turns.value.map(turnShown),
      ),
    form(
      {
        class: 'stack',
        onSubmit: event => {
          event.preventDefault()
          void talk.send()
        },
        onKeyDown: event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void talk.send()
        },
      },
      textArea({ name: 'message', label: isPicture ? w.prompt() : w.message() }, talk.text),
      !isPicture && pictureField(talk.pictures),
      talk.isUnderWay
        ? div(
            { class: 'row' },
            button({ type: 'button', onClick: () => talk.stop() }, w.stop()),
            span({ class: 'hint' }, w.stopHint()),
          )
        : div(
            { class: 'row' },
            button({ type: 'submit', class: 'main', disabled: chosen.protocol() === undefined }, w.send()),
          ),
    ),
  )
}

const turnShown = (turn: ShownTurn): Child =>
  article(
    { key: turn.id, class: `turn ${turn.role}` },
    turn.role === 'user' && span({ class: 'over' }, w.you()),
    turn.thought !== '' &&
      details(
        { class: 'unfolding' },
        summary({}, icon('down'), span({}, w.thought())),
        p({ class: 'said soft' }, turn.thought),
      ),
    turn.text !== '' && p({ class: 'said' }, turn.text),
    shownPictures(turn.pictures),
    turn.failed !== null && told('bad', p({}, turn.failed)),
    turn.isUnderWay && p({ class: 'hint' }, w.writing()),
    turn.requestId !== null && p({ class: 'hint' }, costLine(turn)),
  )

const costLine = ({ cost, requestId }: ShownTurn): Child => [
  cost === undefined ? w.counting() : cost !== null && w.cost(exactMoney(cost)),
  ' ',
  a({ href: hrefOf(`/requests/${requestId}`), target: '_blank', rel: 'noopener' }, w.receipt()),
]
