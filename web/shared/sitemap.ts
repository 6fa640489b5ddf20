/**
 * Every page of the console: its address, its module in the folder `pages`, where its link stands, and its title. The
 * server makes routes from this table, the browser its navigation; so this file imports nothing but what roles may do.
 * `web/base/page.ts` says what a page's module is; what the server writes into a page is a line of DATA in `lib/console/site.ts`. A
 * page that people read without a script is a line of DRAWN in `web/pages/drawn.ts`, too.
 */
import type { Role } from '../../lib/base/people.ts'
import { may, type RolePower } from './roles.ts'

/** The navigation that shows the page. `entry`: no navigation does; such pages lead in, as the one for signing in. */
export type Area = 'public' | 'account' | 'person' | 'operator' | 'entry'

export interface PageRow {
  /** The module: `pages/NAME.ts`. */
  name: string
  /** Below `/console`; `*` stands for one step of any name. */
  path: string
  area: Area
  title: { zh: string; en: string }
  /** An icon of icons.ts. */
  icon?: string
  /** What the reader's role in the account must allow. Navigation leaves the page out for others, and an address that leads to it says so. */
  needs?: RolePower
  /** The zone of the page's times, which it names once: the books', or the one that the reader chose. */
  times?: 'books' | 'chosen'
  /** True = the figures of the page are those of a period, so that the zone stands at the top; else it stands below what the page shows. */
  periods?: true
  /** A parameter of the address with which the page says until when something can be done: the zone stands at the top then, too. */
  deadline?: string
  /** True = tables of the page take the whole window. */
  wide?: true
  /** false = the page is reached from another one, and no navigation shows it. */
  listed?: false
}

const rows = [
  {
    name: 'home',
    path: '',
    area: 'public',
    title: { zh: '一个密钥，连接多家模型', en: 'One key for many models' },
    listed: false,
  },
  {
    name: 'models',
    path: '/models',
    area: 'public',
    times: 'chosen',
    title: { zh: '模型', en: 'Models' },
    icon: 'box',
    wide: true,
  },
  {
    name: 'model',
    path: '/models/*',
    area: 'public',
    times: 'chosen',
    title: { zh: '模型', en: 'Model' },
    listed: false,
  },
  {
    name: 'status',
    path: '/status',
    area: 'public',
    times: 'books',
    periods: true,
    title: { zh: '状态', en: 'Status' },
    icon: 'activity',
  },
  { name: 'connect', path: '/connect', area: 'public', title: { zh: '连接', en: 'Connect' }, icon: 'plug' },
  { name: 'api-reference', path: '/api-reference', area: 'public', title: { zh: 'API', en: 'API' }, icon: 'book' },
  {
    name: 'console-api',
    path: '/console-api',
    area: 'public',
    title: { zh: '控制台接口', en: 'Console API' },
    listed: false,
  },
  {
    name: 'overview',
    path: '/overview',
    area: 'account',
    times: 'books',
    periods: true,
    needs: 'readTotals',
    title: { zh: '概览', en: 'Overview' },
    icon: 'home',
  },
  {
    name: 'keys',
    path: '/keys',
    area: 'account',
    times: 'chosen',
    needs: 'readKeys',
    title: { zh: '密钥', en: 'Keys' },
    icon: 'key',
  },
  {
    name: 'playground',
    path: '/playground',
    area: 'account',
    needs: 'makeKeys',
    title: { zh: '试用', en: 'Playground' },
    icon: 'talk',
  },
  {
    name: 'usage',
    path: '/usage',
    area: 'account',
    times: 'chosen',
    periods: true,
    needs: 'readTotals',
    title: { zh: '用量', en: 'Usage' },
    icon: 'chart',
  },
  {
    name: 'requests',
    path: '/requests',
    area: 'account',
    times: 'chosen',
    periods: true,
    needs: 'readRequests',
    title: { zh: '请求', en: 'Requests' },
    icon: 'list',
  },
  {
    name: 'receipt',
    path: '/requests/*',
    area: 'account',
    times: 'chosen',
    needs: 'readRequests',
    title: { zh: '请求明细', en: 'Receipt' },
    listed: false,
  },
  {
    name: 'billing',
    path: '/billing',
    area: 'account',
    times: 'books',
    periods: true,
    needs: 'readMoney',
    title: { zh: '账单', en: 'Billing' },
    icon: 'wallet',
  },
  {
    name: 'statement',
    path: '/billing/*',
    area: 'account',
    times: 'books',
    periods: true,
    needs: 'readMoney',
    title: { zh: '月结单', en: 'Statement' },
    listed: false,
  },
  {
    name: 'topup',
    path: '/topup',
    area: 'account',
    times: 'chosen',
    deadline: 'order',
    needs: 'readMoney',
    title: { zh: '充值', en: 'Top up' },
    icon: 'plus',
  },
  {
    name: 'paid',
    path: '/topup/*',
    area: 'account',
    times: 'chosen',
    needs: 'readMoney',
    title: { zh: '充值收据', en: 'Receipt of a payment' },
    listed: false,
  },
  {
    name: 'team',
    path: '/team',
    area: 'account',
    times: 'chosen',
    needs: 'readMembers',
    title: { zh: '成员', en: 'Team' },
    icon: 'users',
  },
  {
    name: 'actions',
    path: '/actions',
    area: 'account',
    times: 'chosen',
    needs: 'readActions',
    title: { zh: '操作日志', en: 'Log of actions' },
    icon: 'book',
  },
  { name: 'profile', path: '/profile', area: 'person', title: { zh: '个人资料', en: 'Profile' }, icon: 'user' },
  {
    name: 'security',
    path: '/security',
    area: 'person',
    times: 'chosen',
    title: { zh: '安全', en: 'Security' },
    icon: 'shield',
  },
  {
    name: 'payments',
    path: '/payments',
    area: 'operator',
    times: 'chosen',
    title: { zh: '支付', en: 'Payments' },
    icon: 'wallet',
  },
  {
    name: 'payment',
    path: '/payments/*',
    area: 'operator',
    times: 'chosen',
    title: { zh: '订单', en: 'Order' },
    listed: false,
  },
  {
    name: 'all-actions',
    path: '/all-actions',
    area: 'operator',
    times: 'chosen',
    title: { zh: '全部操作日志', en: 'Log of all actions' },
    icon: 'book',
  },
  { name: 'sign-in', path: '/sign-in', area: 'entry', title: { zh: '登录', en: 'Sign in' } },
  { name: 'forgotten', path: '/forgotten', area: 'entry', title: { zh: '重置密码', en: 'Reset your password' } },
  { name: 'reset', path: '/reset', area: 'entry', title: { zh: '设置新密码', en: 'Choose a new password' } },
  { name: 'invitation', path: '/invitation', area: 'entry', times: 'chosen', title: { zh: '邀请', en: 'Invitation' } },
  { name: 'register', path: '/register', area: 'entry', title: { zh: '注册', en: 'Register' } },
  { name: 'first-sign-in', path: '/first-sign-in', area: 'entry', title: { zh: '登录', en: 'Sign in' } },
  { name: 'email', path: '/email', area: 'entry', title: { zh: '确认邮箱', en: 'Confirm your e-mail' } },
  // no address leads to it: it is shown where there is no page
  {
    name: 'missing',
    path: '',
    area: 'public',
    title: { zh: '没有这个页面', en: 'There is no such page' },
    listed: false,
  },
] as const satisfies readonly PageRow[]

export type PageName = (typeof rows)[number]['name']

export const PAGES: readonly (PageRow & { name: PageName })[] = rows

/** The page at `/console` itself. */
export const HOME: PageName = 'home'

/** Where a reader comes to who has signed in and wanted nothing else. */
export const START: PageName = 'overview'

export const rowOf = (name: PageName): PageRow & { name: PageName } =>
  PAGES.find(page => page.name === name) as PageRow & { name: PageName }

/** The address of a page that has no `*` in its path. */
export const hrefTo = (name: PageName): string => `/console${rowOf(name).path}`

/** Whether only people who are signed in have something to see on it. */
export const isOwn = (name: PageName): boolean => ['account', 'person', 'operator'].includes(rowOf(name).area)

/** Whether the page is there for somebody with this role in the account; undefined = in no account. */
export const mayOpen = ({ needs }: Pick<PageRow, 'needs'>, role: Role | undefined): boolean =>
  needs === undefined || may(role, needs)

/** The page at an address below `/console`; null = there is none. */
export function pageAt(address: string): (PageRow & { name: PageName }) | null {
  const steps = address.split('/')
  const fits = (pattern: string) => {
    const wanted = pattern.split('/')
    return wanted.length === steps.length && wanted.every((step, i) => step === steps[i] || (step === '*' && steps[i]))
  }
  return PAGES.find(page => fits(page.path)) ?? null
}
