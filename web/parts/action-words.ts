/** What the log of actions calls the operations, what they were done to, and who did them. */
import { words } from '../base/words.ts'

/** Operations that concern an account, which its owners see. */
const own = words({
  'accounts.create': ['创建账户', 'Made the account'],
  'accounts.change': ['更改账户', 'Changed the account'],
  'entries.topUp': ['充值', 'Topped up'],
  'entries.adjust': ['调整余额', 'Adjusted the balance'],
  'disputes.decide': ['处理争议用量', 'Decided a dispute'],
  'keys.create': ['创建密钥', 'Made a key'],
  'keys.provide': ['登记密钥', 'Registered a key'],
  'keys.change': ['更改密钥', 'Changed a key'],
  'keys.roll': ['更换密钥', 'Rolled a key'],
  'keys.remove': ['删除密钥', 'Deleted a key'],
  'members.change': ['更改成员角色', 'Changed a role'],
  'members.remove': ['移出成员', 'Removed a member'],
  'members.leave': ['退出账户', 'Left the account'],
  'invitations.create': ['邀请', 'Invited somebody'],
  'invitations.accept': ['接受邀请', 'Accepted an invitation'],
  'invitations.revoke': ['撤回邀请', 'Withdrew an invitation'],
  'orders.create': ['创建充值订单', 'Began a payment'],
  'orders.cancel': ['取消充值订单', 'Cancelled a payment'],
  'orders.credit': ['订单入账', 'Credited a payment'],
  'usdt.address': ['获取 USDT 充值地址', 'Asked for the address for USDT'],
  'usdt.quote': ['锁定 USDT 汇率', 'Fixed a rate for USDT'],
  'payments.refund_end': ['结束 USDT 退款', 'Ended a refund of USDT'],
  'payments.refund': ['退款', 'Refunded a payment'],
  'payments.release': ['提前入账', 'Credited a payment that was held'],
  'refunds.freeze': ['冻结退款金额', 'Froze money for a refund'],
  'refunds.end': ['结束退款', 'Ended a refund'],
  'disputes.end': ['结束争议', 'Ended a dispute'],
})

/** The others, which only operators see. */
const others = words({
  'payments.resolve': ['处理支付异常', 'Resolved an exception of payments'],
  'payments.set_rate': ['设置汇率', 'Set a rate'],
  'groups.put': ['设置分组', 'Set a group'],
  'groups.remove': ['删除分组', 'Deleted a group'],
  'models.put': ['设置模型', 'Set a model'],
  'models.remove': ['删除模型', 'Deleted a model'],
  'channels.put': ['设置渠道', 'Set a channel'],
  'channels.remove': ['删除渠道', 'Deleted a channel'],
  'payments.rewind': ['回退链上读取位置', 'Set back how far the chain is read'],
  'prices.set': ['设置价格', 'Set prices'],
  'factor.confirm': ['启用两步验证', 'Switched two-step verification on'],
  'factor.remove': ['停用两步验证', 'Switched two-step verification off'],
  'factor.recovery_codes': ['生成恢复码', 'Made recovery codes'],
  'identities.link': ['关联身份', 'Linked an identity'],
  'identities.end': ['解除关联身份', 'Ended a linked identity'],
  'passkeys.add': ['添加通行密钥', 'Added a passkey'],
  'passkeys.rename': ['重命名通行密钥', 'Renamed a passkey'],
  'passkeys.remove': ['删除通行密钥', 'Deleted a passkey'],
  'me.change': ['更改个人资料', 'Changed a profile'],
  'me.delete': ['删除用户', 'Deleted the own user'],
  'me.email': ['申请更改邮箱', 'Asked for another e-mail'],
  'me.email_confirmed': ['更改邮箱', 'Changed the e-mail'],
  'me.password': ['更改密码', 'Changed the password'],
  'registration.register': ['注册', 'Registered'],
  'resets.ask': ['申请重置密码', 'Asked to reset a password'],
  'resets.reset': ['重置密码', 'Reset a password'],
  'sessions.end': ['结束登录', 'Ended a sign-in'],
  'sessions.end_others': ['结束其他登录', 'Ended all other sign-ins'],
  'sign_in.password': ['用密码登录', 'Signed in with a password'],
  'sign_in.second_factor': ['完成两步验证', 'Gave a second factor'],
  'sign_in.passkey': ['用通行密钥登录', 'Signed in with a passkey'],
  'sign_in.oidc': ['用身份提供方登录', 'Signed in by the provider'],
  'sign_in.link': ['用链接登录', 'Signed in with a link'],
  'sign_in.make_link': ['生成登录链接', 'Made a link for signing in'],
  'sign_in.invited': ['接受邀请后登录', 'Signed in after an invitation'],
  'sign_in.registered': ['注册后登录', 'Signed in after registering'],
  'sign_in.renewed': ['更新登录', 'Renewed a sign-in'],
  'sign_in.sign_out': ['退出登录', 'Signed out'],
  'tokens.create': ['创建个人令牌', 'Made a personal token'],
  'tokens.end': ['撤销个人令牌', 'Ended a personal token'],
  'users.enable': ['启用用户', 'Enabled a user'],
  'users.disable': ['停用用户', 'Disabled a user'],
  'users.end_sessions': ['结束用户的登录', 'Ended the sign-ins of a user'],
  'users.reset': ['生成重置链接', 'Made a link to reset a password'],
  'users.factor_reset': ['停用用户的两步验证', 'Switched the second factor of a user off'],
})

const kinds = words({
  account: ['账户', 'Account'],
  key: ['密钥', 'Key'],
  group: ['分组', 'Group'],
  model: ['模型', 'Model'],
  channel: ['渠道', 'Channel'],
  user: ['用户', 'User'],
  member: ['成员', 'Member'],
  invitation: ['邀请', 'Invitation'],
  session: ['登录', 'Sign-in'],
  token: ['个人令牌', 'Personal token'],
  entry: ['账目', 'Entry'],
  order: ['订单', 'Order'],
  deposit: ['USDT 地址', 'Address of USDT'],
  dispute: ['争议用量', 'Dispute'],
  setting: ['设置', 'Setting'],
})

const actors = words({
  user: ['已删除的用户', 'A deleted user'],
  operators: ['网关运营方', 'The gateway’s operators'],
  token: ['管理令牌', 'The admin token'],
  cli: ['命令行', 'The command line'],
  file: ['目录文件', 'A catalogue file'],
  gateway: ['网关', 'The gateway'],
})

const all: Record<string, () => string> = { ...own, ...others }

export const OWN_OPERATIONS: readonly string[] = Object.keys(own)
export const ALL_OPERATIONS: readonly string[] = Object.keys(all)

/** An operation that this table does not know is called by its id. */
export const operationName = (id: string): string => all[id]?.() ?? id
export const subjectKind = (kind: keyof typeof kinds): string => kinds[kind]()
export const actorKind = (kind: keyof typeof actors): string => actors[kind]()
