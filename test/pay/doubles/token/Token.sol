// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A token as the tests of deposits need it: everybody may mint, and it says how many decimals it has as it is told to.
/// It has no constructor, so that its code works at any address that it is put at.
contract Token {
    event Transfer(address indexed from, address indexed to, uint256 value);
    string public constant symbol = "USDT";
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint8 private fewer;

    function decimals() external view returns (uint8) { return 18 - fewer; }
    function setDecimals(uint8 count) external { fewer = 18 - count; }

    function mint(address to, uint256 value) external { balanceOf[to] += value; emit Transfer(address(0), to, value); }
    function approve(address spender, uint256 value) external returns (bool) { allowance[msg.sender][spender] = value; return true; }
    function transfer(address to, uint256 value) external returns (bool) { move(msg.sender, to, value); return true; }
    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }
    /// Several transfers in one transaction.
    function transferMany(address[] calldata to, uint256 value) external { for (uint256 i = 0; i < to.length; i++) move(msg.sender, to[i], value); }
    /// Moves tokens without a word: what no list of events shows.
    function vanish(address from, uint256 value) external { balanceOf[from] -= value; }

    function move(address from, address to, uint256 value) private {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
