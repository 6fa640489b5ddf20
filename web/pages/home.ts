/** The front door: what this is, which models there are at which price, and how to begin. */
import type { CatalogueModel } from '../../lib/operations/catalogue/public-catalogue.ts'
import type { HomeData } from '../../lib/console/answers.ts'
import { a, type Child, code, div, h2, h3, li, ol, p, section } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import type { View } from '../base/page.ts'
import { signedIn } from '../base/session.ts'
import { site } from '../base/site.ts'
import { inLanguage, words } from '../base/words.ts'
import { copyable } from '../parts/copy.ts'
import { contact } from '../parts/operator.ts'
import { lineNames } from '../parts/line-words.ts'
import { rows } from '../parts/listing.ts'
import { empty } from '../parts/state.ts'
import { hrefTo, START } from '../shared/sitemap.ts'
import { classCell, otherCell } from './models/price-cells.ts'

const w = words({
  about: [
    '用一个地址和一个密钥调用多家模型，按实际用量从人民币余额扣费。常用的 SDK 和编程工具只需更换地址与密钥。',
    'One address and one key for the models of many vendors, paid from a CNY balance by what you use. SDKs and coding tools need nothing but the address and the key.',
  ],
  register: ['注册', 'Register'],
  signIn: ['登录', 'Sign in'],
  overview: ['打开概览', 'Open your overview'],
  invited: [
    '新用户需要邀请。已有邀请链接时直接打开即可。',
    'New users are invited. If you have an invitation, open its link.',
  ],
  begin: ['三步开始', 'Begin in three steps'],
  joinTitle: ['注册', 'Register'],
  join: ['用邮箱注册，创建自己的账户和密钥。', 'Register with your e-mail, and make a key of your own.'],
  enterTitle: ['登录', 'Sign in'],
  enter: ['接受邀请后登录，创建自己的密钥。', 'Accept your invitation, sign in, and make a key of your own.'],
  payTitle: ['充值', 'Top up'],
  pay: [
    '先充值，后使用。每次请求都有一张能自己核算的明细。',
    'Pay first, then use it. Every request has a receipt that you can add up yourself.',
  ],
  pasteTitle: ['粘贴', 'Paste'],
  paste: ['把这个地址和您的密钥填入客户端：', 'Put this address and your key into your client:'],
  connect: ['各客户端的设置', 'How to set up each client'],
  address: ['地址', 'Address'],
  models: ['模型与价格', 'Models and prices'],
  unit: ['人民币元，每百万 token；图片等另行标明。', 'In CNY per million tokens; other units are named.'],
  none: ['目前没有对外公开的模型', 'No models are public at the moment'],
  model: ['模型', 'Model'],
  other: ['其他', 'Other'],
  all: [(count: number) => `查看全部 ${count} 个模型`, (count: number) => `See all ${count} models`],
})

export default function home(data: HomeData): View {
  return () => [
    p({ class: 'lead' }, inLanguage(site.value.about ?? { zh: w.about(), en: w.about() })),
    entrance(),
    section({ class: 'panel stack', 'aria-labelledby': 'begin' }, h2({ id: 'begin' }, w.begin()), steps(data)),
    section(
      { class: 'panel listing', 'aria-labelledby': 'models' },
      div({ class: 'bar stack' }, h2({ id: 'models' }, w.models()), p({ class: 'soft' }, w.unit())),
      data.models.length === 0 ? empty('box', w.none()) : prices(data),
    ),
  ]
}

/** The way in: what somebody does first who comes here for the first time. */
function entrance(): Child {
  if (signedIn.value) return p({}, a({ class: 'button main', href: hrefTo(START) }, w.overview()))
  const { register } = site.value
  return div(
    { class: 'stack' },
    p(
      { class: 'row' },
      register && a({ class: 'button main', href: hrefTo('register') }, w.register()),
      a({ class: register ? 'button' : 'button main', href: hrefTo('sign-in') }, w.signIn()),
    ),
    !register && p({ class: 'soft' }, w.invited(), ' ', contact()),
  )
}

const step = (at: number, title: string, ...content: Child[]): Child => li({}, h3({}, `${at}. ${title}`), content)

function steps({ main }: HomeData): Child {
  const { register } = site.value
  return ol(
    { class: 'choices' },
    step(1, register ? w.joinTitle() : w.enterTitle(), p({}, register ? w.join() : w.enter())),
    step(2, w.payTitle(), p({}, w.pay())),
    step(
      3,
      w.pasteTitle(),
      p({}, w.paste()),
      copyable(main, w.address()),
      p({}, a({ href: hrefTo('connect') }, w.connect())),
    ),
  )
}

const priceOf = (name: string) => (model: CatalogueModel) => classCell(model, name)

const prices = ({ models, count, group }: HomeData): Child => [
  rows({
    caption: w.models(),
    keyOf: ({ name }: CatalogueModel) => name,
    rows: models,
    columns: [
      { title: w.model(), cell: ({ name }) => a({ href: hrefOfModel(name, group) }, code({}, name)) },
      { title: lineNames.input(), cell: priceOf('input'), number: true },
      { title: lineNames.output(), cell: priceOf('output'), number: true },
      { title: w.other(), narrow: 'plain', cell: otherCell },
    ],
  }),
  p({ class: 'older' }, a({ class: 'button', href: hrefTo('models') }, icon('box'), w.all(count))),
]

const hrefOfModel = (name: string, group: string | null): string =>
  `/console/models/${encodeURIComponent(name)}?group=${encodeURIComponent(group ?? '')}`
